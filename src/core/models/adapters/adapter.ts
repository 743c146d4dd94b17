import type { TensorReference } from '../../tensor/reference.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import type { ExpertPacking } from './expert-packing.js';
import type { AdapterKind, PlacedFactors } from './kinds/kind.js';
import type { AdapterChange } from './kinds/kinds.js';
import type { ParameterChange, Tuner } from './kinds/tuner.js';
import type { NumberOf } from './pattern/module-numbers.js';

export interface LowRankPair extends PlacedFactors {
  /** Full names of `lora_A` and `lora_B`. */
  readonly names: { readonly a: string; readonly b: string };
  /** alpha of this module: from `alpha_pattern`, else `lora_alpha`. */
  readonly alpha: number;
  /** A is [rank, in, kernel…], B [out, rank, 1…]. */
  readonly isConvolution?: true;
}

/** A PEFT adapter without weights. Keys of maps are names of the base's parameters: `lm_head.weight`. */
export interface Adapter {
  /** `checkpoint.config` is the parsed `adapter_config.json`. */
  readonly checkpoint: CheckpointIndex;
  readonly config: AdapterConfig;
  /** LoRA's factors: the result is W + s·B·A, or what `config.kind` computes. */
  readonly pairs: ReadonlyMap<string, LowRankPair>;
  /** Changes of kinds other than LoRA's (`config.tuners`). */
  readonly changes: ReadonlyMap<string, ParameterChange>;
  /** Tensors that replace the base's: `modules_to_save` and trained biases (`bias`). */
  readonly replaced: ReadonlyMap<string, { readonly name: string; readonly tensor: TensorReference }>;
  /** Changes of biases by `lora_bias`: bias + scale·tensor. */
  readonly added: ReadonlyMap<
    string,
    { readonly name: string; readonly tensor: TensorReference; readonly scale: number }
  >;
}

/** A tuner and its checked keys of `adapter_config.json`. */
export interface ActiveTuner {
  readonly tuner: Tuner;
  readonly keys: Readonly<Record<string, unknown>>;
}

/** Versions of PEFT that read the factors of square expert matrices differently. */
export type ExpertLayout = 'before 0.19' | '0.19.0' | 'since 0.19.1';

/** The keys of `adapter_config.json` that affect a LoRA adapter's result (PEFT 0.21). */
export interface AdapterConfig {
  /** `base_model_name_or_path`. */
  readonly base?: string;
  /** `LoRA`, `LoHa`, … */
  readonly title: string;
  readonly kind: AdapterKind<AdapterChange>;
  /** Kinds of tensors in the file other than LoRA's factors. */
  readonly tuners: readonly ActiveTuner[];
  readonly rank: number;
  readonly alpha: number;
  readonly rsLora: boolean;
  readonly fanInFanOut: boolean;
  /** Which biases were trained, such as `lora_only`. */
  readonly bias: string;
  readonly loraBias: boolean;
  /** True if a tied head gets the change of the embeddings (`ensure_weight_tying`). */
  readonly keepsTie: boolean;
  /** Returns a module's rank, by `rank_pattern`, else `r`. */
  readonly rankOf: NumberOf;
  readonly alphaOf: NumberOf;
  readonly modulesToSave: readonly string[];
  readonly targetModules: readonly string[] | string | undefined;
  readonly targetParameters: readonly string[];
  readonly expertLayout: ExpertLayout;
  /** Undefined if the file does not state it. */
  readonly expertPacking: ExpertPacking | undefined;
  readonly raw: Readonly<Record<string, unknown>>;
}
