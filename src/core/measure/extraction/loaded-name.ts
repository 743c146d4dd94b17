/** Families whose language model is under `model.` in files but under `model.language_model.` in classes. */
const unnamed = new Set<unknown>(['qwen2_vl', 'qwen2_5_vl']);

/** Returns a function from names in files to names in transformers 5, with which PEFT compares targets. */
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
