/** Families that use transformers' Conv1D, stored as [in, out], instead of torch's Linear. */
const families = new Set(['gpt2', 'openai-gpt', 'imagegpt', 'decision_transformer']);

const modules = /(^|\.)(c_attn|q_attn|c_proj|c_fc)\.weight$/;

/** True for a parameter of a Conv1D, false for a Linear, undefined if the configuration names no family. */
export const isConv1d = (
  config: Readonly<Record<string, unknown>> | undefined,
  parameter: string,
): boolean | undefined => {
  const family = config?.['model_type'];
  if (typeof family !== 'string') return undefined;
  return families.has(family) && modules.test(parameter);
};
