/** Ollama's names for keys of `generation_config.json`. */
const parameters: Readonly<Record<string, string>> = {
  temperature: 'temperature',
  top_k: 'top_k',
  top_p: 'top_p',
  min_p: 'min_p',
  repetition_penalty: 'repeat_penalty',
};

/**
 * Returns an Ollama Modelfile with the sampling parameters of `generation_config.json`. It has no TEMPLATE:
 * the GGUF file contains the chat template in Jinja.
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
