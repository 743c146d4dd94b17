import { isGiven } from '../../../checkpoint/files/json.js';
import type { Described } from './saying.js';
import { Unsaid } from './saying.js';

const ofAllLayers =
  /^(use_sliding_window|sliding_window|local_attention|attention_chunk_size|window_size|\w*(norm_eps|norm_epsilon|layernorm_epsilon)|hidden_act|hidden_activation|activation_function|ffn_activation|mlp_hidden_act|mamba_hidden_act|attn_logit_softcapping|query_pre_attn_scalar|(attention|residual|ssm|mlp|key|attention_(in|out))_multipliers?|num_experts_per_tok(en)?|moe_topk|top_k_experts|norm_topk_prob|routed_scaling_factor|scoring_func|topk_method|n_group|topk_group|clip_qkv|qk_layernorm|use_qk_norm|attn_scale|scale_attn_weights|scale_depth|residual_scale|parallel_attn|use_parallel_residual|alibi|multi_query|time_step_(min|max|floor|limit)|chunk_size|mamba_chunk_size|rescale_every|swiglu_limit)$/;

/**
 * Refuses to stack models that differ in a key with one value for all layers.
 *
 * @throws Unsaid
 */
export const refuseDifferent = (first: Described, other: Described): void => {
  const keys = new Set([...Object.keys(first.section), ...Object.keys(other.section)]);
  for (const key of keys) {
    const [one, another] = [first.section[key], other.section[key]];
    // Versions of transformers omit different defaults, and write null for unset keys.
    const isSaid = isGiven(one) && isGiven(another);
    const isSwitchedOff = key in first.section && key in other.section;
    if (ofAllLayers.test(key) && (isSaid || isSwitchedOff) && JSON.stringify(one) !== JSON.stringify(another))
      throw new Unsaid(
        key,
        `is ${JSON.stringify(one)} of one model and ${JSON.stringify(another)} of another, and can be only one of all layers`,
      );
  }
};
