import { ownValue } from '../../base/lookup.js';
import { floatingNumber } from '../checkpoint/config.js';
import { isObject } from '../checkpoint/json.js';
import type { ExpertForm } from './forms.js';

type Config = Readonly<Record<string, unknown>>;

/** What a mixture's `config.json` is made of, beside the dense model's. */
export interface MixtureSizes {
  readonly experts: number;
  readonly perToken: number;
  readonly shared: number;
  readonly layers: number;
}

/** A family of mixtures that dense models can be put into: attention, norms and embeddings of one, and the MLPs of others. */
export interface MixtureLayout {
  /** As mergekit-moe calls it: a recipe's `architecture` is the beginning of it, in any case. */
  readonly title: string;
  /** `model_type` of the mixture. */
  readonly family: string;
  /** `model_type` of dense models whose tensors are computed with alike. */
  readonly dense: readonly string[];
  /** Tensors besides the MLPs that it has a place for. */
  readonly holds: RegExp;
  /** Those of them that it must have, and a dense model may lack: biases, which are 0 then. By the matrix that has as many rows. */
  readonly biases: readonly string[];
  /** The form in which mergekit-moe writes its experts. */
  readonly form: ExpertForm;
  /** The part of a layer that has the router and the experts, as files that have each expert by itself name it. */
  readonly block: string;
  /** Their names of an expert's matrices. */
  readonly matrices: { readonly gate: string; readonly up: string; readonly down: string };
  /** The shared expert: its part of the layer, and whether it has a router of its own; null where there is no place for one. */
  readonly shared: { readonly block: string; readonly router: string | null } | null;
  /** Returns the keys of `config.json` that differ from the dense model's. */
  config(dense: Config, sizes: MixtureSizes): Config;
}

const plain = { gate: 'gate_proj', up: 'up_proj', down: 'down_proj' };

/** Matches what all have: embeddings, head, norms, projections, and `more` of the attention. */
const holding = (more?: string): RegExp =>
  new RegExp(
    `^(model\\.embed_tokens\\.weight|model\\.norm\\.weight|lm_head\\.weight|model\\.layers\\.\\d+\\.(self_attn\\.[qkvo]_proj\\.weight|input_layernorm\\.weight|post_attention_layernorm\\.weight${more === undefined ? '' : `|self_attn\\.${more}`}))$`,
  );

/** Values of keys that a dense model's `config.json` may lack, and that other families take otherwise then (transformers 5.24). */
const defaults: Readonly<Record<string, (config: Config) => Config>> = {
  llama: ({ num_attention_heads }) => ({
    num_key_value_heads: num_attention_heads,
    max_position_embeddings: 2048,
    rms_norm_eps: 1e-6,
  }),
  mistral: () => ({ num_key_value_heads: 8, max_position_embeddings: 131_072, rms_norm_eps: 1e-6 }),
  qwen2: () => ({ num_key_value_heads: 32, max_position_embeddings: 32_768, rms_norm_eps: 1e-6 }),
  qwen3: () => ({
    num_key_value_heads: 32,
    max_position_embeddings: 32_768,
    rms_norm_eps: 1e-6,
    head_dim: 128,
  }),
};

/** Returns what a dense model's configuration means by the keys that it lacks. */
const impliedBy = (dense: Config): Config => {
  const implied = Object.entries(ownValue(defaults, String(dense['model_type']))?.(dense) ?? {});
  const rope = dense['rope_theta'] ?? dense['rope_parameters'];
  return {
    ...Object.fromEntries(implied.filter(([key]) => (dense[key] ?? undefined) === undefined)),
    ...(rope === undefined ? { rope_theta: floatingNumber(10_000) } : {}),
  };
};

/** Keys of Qwen's mixtures that dense models need not have: no windows, and experts in every layer. */
const qwenLayers = (dense: Config, layers: number): Config => ({
  decoder_sparse_step: 1,
  layer_types: Array.from({ length: layers }, () => 'full_attention'),
  max_window_layers: dense['max_window_layers'] ?? 28,
  mlp_only_layers: [],
  norm_topk_prob: true,
  output_router_logits: false,
  router_aux_loss_coef: 0.001,
});

/** The place of a class of DeepSeek's own code on the hub, as `auto_map` names it. */
const deepseekCode = (name: string): string => ['deepseek-ai/deepseek-moe-16b-base', name].join('--');

/** In the order in which mergekit-moe prefers them, where a recipe names none (`mergekit.moe`, 0.1.5). */
export const mixtureLayouts: readonly MixtureLayout[] = [
  {
    title: 'Mixtral',
    family: 'mixtral',
    dense: ['llama', 'mistral'],
    holds: holding(),
    biases: [],
    form: 'fused',
    block: 'block_sparse_moe',
    matrices: { gate: 'w1', up: 'w3', down: 'w2' },
    shared: null,
    config: (dense, { experts, perToken }) => ({
      ...impliedBy(dense),
      architectures: ['MixtralForCausalLM'],
      model_type: 'mixtral',
      num_local_experts: experts,
      num_experts_per_tok: perToken,
      output_router_logits: false,
      router_aux_loss_coef: 0.001,
      router_jitter_noise: floatingNumber(0),
      sliding_window: null,
    }),
  },
  {
    title: 'DeepSeek MoE',
    family: 'deepseek',
    dense: ['llama', 'mistral'],
    holds: holding(),
    biases: [],
    form: 'separate',
    block: 'mlp',
    matrices: plain,
    shared: { block: 'shared_experts', router: null },
    config: (dense, { experts, perToken, shared }) => ({
      ...impliedBy(dense),
      // Its own code reads this key alone.
      ...(isObject(dense['rope_parameters']) ? { rope_theta: dense['rope_parameters']['rope_theta'] } : {}),
      architectures: ['DeepseekForCausalLM'],
      model_type: 'deepseek',
      n_routed_experts: experts,
      n_shared_experts: shared === 0 ? null : shared,
      num_experts_per_tok: perToken,
      first_k_dense_replace: 0,
      moe_layer_freq: 1,
      scoring_func: 'softmax',
      norm_topk_prob: true,
      moe_intermediate_size: dense['intermediate_size'],
      auto_map: {
        AutoConfig: deepseekCode('configuration_deepseek.DeepseekConfig'),
        AutoModel: deepseekCode('modeling_deepseek.DeepseekModel'),
        AutoModelForCausalLM: deepseekCode('modeling_deepseek.DeepseekForCausalLM'),
      },
    }),
  },
  {
    title: 'Qwen MoE',
    family: 'qwen2_moe',
    dense: ['llama', 'mistral', 'qwen2'],
    holds: holding('[qkv]_proj\\.bias'),
    biases: ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'],
    form: 'separate',
    block: 'mlp',
    matrices: plain,
    shared: { block: 'shared_expert', router: 'shared_expert_gate' },
    config: (dense, { experts, perToken, layers }) => ({
      ...impliedBy(dense),
      ...qwenLayers(dense, layers),
      architectures: ['Qwen2MoeForCausalLM'],
      model_type: 'qwen2_moe',
      num_experts: experts,
      num_experts_per_tok: perToken,
      moe_intermediate_size: dense['intermediate_size'],
      shared_expert_intermediate_size: dense['intermediate_size'],
      qkv_bias: true,
      sliding_window: null,
      use_sliding_window: false,
    }),
  },
  {
    title: 'Qwen3 MoE',
    family: 'qwen3_moe',
    dense: ['qwen3'],
    holds: holding('[qk]_norm\\.weight'),
    biases: [],
    form: 'fused',
    block: 'mlp',
    matrices: plain,
    shared: null,
    config: (dense, { experts, perToken, layers }) => ({
      ...impliedBy(dense),
      ...qwenLayers(dense, layers),
      architectures: ['Qwen3MoeForCausalLM'],
      model_type: 'qwen3_moe',
      // transformers 5 has the first key, versions before it the second.
      num_local_experts: experts,
      num_experts: experts,
      num_experts_per_tok: perToken,
      moe_intermediate_size: dense['intermediate_size'],
    }),
  },
];
