/** Keys of `generation_config.json` that Ollama has parameters for, under its names. */
const parameters: Readonly<Record<string, string>> = {
  temperature: 'temperature',
  top_k: 'top_k',
  top_p: 'top_p',
  min_p: 'min_p',
  repetition_penalty: 'repeat_penalty',
};

/**
 * Returns an Ollama Modelfile: the file of weights beside it, and how the model's own `generation_config.json` samples. The
 * chat template is in the GGUF file, in Jinja; Ollama's TEMPLATE is another language, into which it is not translated.
 *
 * @param file name of the GGUF file, of letters, digits, dots and dashes
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
