import type { TensorReference } from '../../tensor/reference.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import type { AdapterKind, ExpertRows } from './kinds/kind.js';
import type { AdapterChange } from './kinds/kinds.js';
import type { NumberOf } from './module-numbers.js';

/** The two matrices of a LoRA adapter for one parameter of the base. */
export interface LowRankPair {
  /** `lora_A`: [rank, in]. */
  readonly a: TensorReference;
  /** `lora_B`: [out, rank]. */
  readonly b: TensorReference;
  /** The tensor that the adapter's kind has beside them: [out]. */
  readonly beside?: TensorReference | undefined;
  /** Names of the two in the adapter's file. */
  readonly names: { readonly a: string; readonly b: string };
  readonly rank: number;
  /** alpha as the configuration gives it for this module (`alpha_pattern`, else `lora_alpha`). */
  readonly alpha: number;
  /** s: alpha / rank, or alpha / √rank (`use_rslora`). */
  readonly scale: number;
  /** The parameter is stored as [in, out] (`fan_in_fan_out`, embeddings): the change is (B · A)ᵀ. */
  readonly transposed: boolean;
  /** Where the parameter has the matrices of several experts (`target_parameters`): A is [experts · rank, in], B [out, rank · experts]. */
  readonly experts?: ExpertRows | undefined;
}

/**
 * A PEFT adapter as its configuration and its file's header describe it; no weights. All maps are by the name of the
 * base's parameter that is changed: `model.layers.0.self_attn.q_proj.weight`.
 */
export interface Adapter {
  /** Its directory: name, path, hub, files (`adapter_model.safetensors`), side files; `config` is `adapter_config.json`. */
  readonly checkpoint: CheckpointIndex;
  readonly config: AdapterConfig;
  /** By kind: W + s · B · A, or what `config.kind` makes of that. */
  readonly pairs: ReadonlyMap<string, LowRankPair>;
  /** Replaced by a tensor of the adapter: `modules_to_save`, biases that were trained (`bias`). */
  readonly replaced: ReadonlyMap<string, { readonly name: string; readonly tensor: TensorReference }>;
  /** Biases that `lora_bias` adds to: bias + scale · tensor. */
  readonly added: ReadonlyMap<
    string,
    { readonly name: string; readonly tensor: TensorReference; readonly scale: number }
  >;
}

/** The versions of PEFT that give the factors of square matrices of experts a meaning of their own. */
export type ExpertLayout = 'before 0.19' | '0.19.0' | 'since 0.19.1';

/** The keys of `adapter_config.json` that change what a LoRA adapter computes (PEFT 0.21); the others are kept beside it. */
export interface AdapterConfig {
  /** `base_model_name_or_path`, where it is written. */
  readonly base?: string;
  readonly kind: AdapterKind<AdapterChange>;
  readonly rank: number;
  readonly alpha: number;
  readonly rsLora: boolean;
  readonly fanInFanOut: boolean;
  readonly bias: 'none' | 'all' | 'lora_only';
  readonly loraBias: boolean;
  /** `r`, or what `rank_pattern` gives the module instead. */
  readonly rankOf: NumberOf;
  /** `lora_alpha`, or what `alpha_pattern` gives the module instead. */
  readonly alphaOf: NumberOf;
  readonly modulesToSave: readonly string[];
  readonly targetModules: readonly string[] | string | undefined;
  readonly targetParameters: readonly string[];
  /** Factors of experts have the widths that PEFT gave them before 0.19, in 0.19.0, or since 0.19.1. */
  readonly expertLayout: ExpertLayout;
  /** The whole object as read. */
  readonly raw: Readonly<Record<string, unknown>>;
}
