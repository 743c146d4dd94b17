/**
 * The language model is under `model.` in their files, and under `model.language_model.` in their classes.
 */
const unnamed = new Set<unknown>(['qwen2_vl', 'qwen2_5_vl']);

/**
 * Returns a function from a module's name in files to its name in transformers 5, which PEFT compares targets
 * with.
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
