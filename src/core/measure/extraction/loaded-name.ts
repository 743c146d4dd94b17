/** Families whose files have the language model under `model.` alone, and whose classes have it under `model.language_model.`. */
const unnamed = new Set<unknown>(['qwen2_vl', 'qwen2_5_vl']);

/**
 * Returns a function from the name of a module in a model's files to its name in the model that transformers 5 loads. PEFT
 * compares names of targets with the latter.
 */
export const loadedNames = (
  config: Readonly<Record<string, unknown>> | undefined,
): ((module: string) => string) => {
  const isUnnamed = unnamed.has(config?.['model_type']);
  return (module) => {
    const named = module
      .replace(/^language_model\.model\./, 'model.language_model.')
      .replace(/^language_model\.lm_head(?=\.|$)/, 'lm_head');
    return isUnnamed
      ? named.replace(/^model\.(?=(layers|embed_tokens|norm)\b)/, 'model.language_model.')
      : named;
  };
};
