/** Ollama's names of `generation_config.json`'s keys. */
const parameters: Readonly<Record<string, string>> = {
  temperature: 'temperature',
  top_k: 'top_k',
  top_p: 'top_p',
  min_p: 'min_p',
  repetition_penalty: 'repeat_penalty',
};

/**
 * Takes sampling from `generation_config.json`. The GGUF file has the chat template as Jinja; it is not
 * translated to Ollama's TEMPLATE language.
 *
 * @param file letters, digits, dots and dashes
 */
export const modelfile = (file: string, generation: Readonly<Record<string, unknown>> = {}): string =>
  [
    `FROM ./${file}`,
    ...Object.entries(parameters).flatMap(([key, name]) => {
      const value = generation[key];
      return typeof value === 'number' && Number.isFinite(value) ? [`PARAMETER ${name} ${value}`] : [];
    }),
    '',
  ].join('\n');
