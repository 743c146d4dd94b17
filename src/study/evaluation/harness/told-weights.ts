export interface ToldWeights {
  /** Paths of a checkpoint and of an adapter, if any; or a server's name for a model. */
  readonly paths: readonly string[];
  /** Arguments that select or change weights: `delta=/delta`, sorted. */
  readonly others: readonly string[];
}

export const adapterKeys: readonly string[] = ['peft', 'lora_local_path'];

/** Further arguments that select or change weights, with the harness's defaults. */
const otherKeys = {
  delta: '',
  gguf_file: '',
  lora_paths: '',
  revision: 'main',
  steer_path: '',
  subfolder: '',
};

export const toldWeights = (given: Readonly<Record<string, unknown>>): ToldWeights => {
  const textOf = (key: string): string => {
    const value = given[key] ?? '';
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
    return text === 'None' ? '' : text;
  };
  const adapters = adapterKeys.map(textOf).filter((path) => path !== '');
  return {
    paths: [textOf('pretrained') || textOf('model'), ...adapters],
    others: Object.entries(otherKeys)
      .filter(([key, usual]) => !['', usual].includes(textOf(key)))
      .map(([key]) => `${key}=${textOf(key)}`),
  };
};

/** Writes weights for a message: `/base+/adapter delta=/delta`. */
export const printWeights = ({ paths, others }: ToldWeights): string =>
  [paths.join('+'), ...others].join(' ');
