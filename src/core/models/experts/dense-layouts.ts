import { ownValue } from '../../base/errors/lookup.js';
import { floatingNumber } from '../checkpoint/config/config.js';
import { isObject } from '../checkpoint/files/json.js';
import type { ExpertLayout } from './layouts.js';

type Config = Readonly<Record<string, unknown>>;

export interface MixtureSizes {
  readonly experts: number;
  readonly perToken: number;
  readonly shared: number;
  readonly layers: number;
}

/** A family of mixtures made from dense models: attention, norms and embeddings from one model, MLPs from all. */
export interface MixtureLayout {
  /** mergekit-moe's name. A recipe's `architecture` is a prefix of it, in any case. */
  readonly title: string;
  readonly family: string;
  /** `model_type` of dense models that compute like an expert of this family. */
  readonly dense: readonly string[];
  /** Tensors that the family accepts outside MLPs. */
  readonly holds: RegExp;
  /** Biases that the family requires (0 if dense models lack them), each with a matrix of as many rows. */
  readonly biases: readonly string[];
  readonly form: ExpertLayout;
  /** The part of a layer with router and experts, in files with separate experts. */
  readonly block: string;
  /** An expert's matrices in files with separate experts. */
  readonly matrices: { readonly gate: string; readonly up: string; readonly down: string };
  /** The shared expert's part of the layer, and its router if it has one; null without a shared expert. */
  readonly shared: { readonly block: string; readonly router: string | null } | null;
  config(dense: Config, sizes: MixtureSizes): Config;
}

const plain = { gate: 'gate_proj', up: 'up_proj', down: 'down_proj' };

const holding = (more?: string): RegExp =>
  new RegExp(
    `^(model\\.embed_tokens\\.weight|model\\.norm\\.weight|lm_head\\.weight|model\\.layers\\.\\d+\\.(self_attn\\.[qkvo]_proj\\.weight|input_layernorm\\.weight|post_attention_layernorm\\.weight${more === undefined ? '' : `|self_attn\\.${more}`}))$`,
  );

/** Defaults of dense families (transformers 5.24) that differ from the mixtures'. */
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

const impliedBy = (dense: Config): Config => {
  const implied = Object.entries(ownValue(defaults, String(dense['model_type']))?.(dense) ?? {});
  const rope = dense['rope_theta'] ?? dense['rope_parameters'];
  return {
    ...Object.fromEntries(implied.filter(([key]) => (dense[key] ?? undefined) === undefined)),
    ...(rope === undefined ? { rope_theta: floatingNumber(10_000) } : {}),
  };
};

/** Keys of Qwen's mixtures that dense models may lack: no windows, and experts in each layer. */
const qwenLayers = (dense: Config, layers: number): Config => ({
  decoder_sparse_step: 1,
  layer_types: Array.from({ length: layers }, () => 'full_attention'),
  max_window_layers: dense['max_window_layers'] ?? 28,
  mlp_only_layers: [],
  norm_topk_prob: true,
  output_router_logits: false,
  router_aux_loss_coef: 0.001,
});

const deepseekCode = (name: string): string => ['deepseek-ai/deepseek-moe-16b-base', name].join('--');

/** Layouts in the order of mergekit-moe 0.1.5. Without `architecture`, the first that fits is used. */
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
      // Only DeepSeek's own code reads this key.
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
      // transformers 5 reads the first key, older versions the second.
      num_local_experts: experts,
      num_experts: experts,
      num_experts_per_tok: perToken,
      moe_intermediate_size: dense['intermediate_size'],
    }),
  },
];
