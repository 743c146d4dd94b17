/** The provenance file, which also marks a directory as ours to replace. Written last. */
export const provenanceName = 'layerloom.json';

/** The model card. */
export const cardName = 'README.md';

/** The file that makes a directory an adapter of PEFT. */
export const adapterConfigName = 'adapter_config.json';

/** The weights of an adapter of PEFT. */
export const adapterWeightsName = 'adapter_model.safetensors';

/** True if a file's name, which may come from a stranger, stays inside its directory. */
export const staysInside = (name: string): boolean =>
  name !== '' &&
  !name.includes('://') &&
  !name.includes('\0') &&
  !/^([/\\]|[A-Za-z]:)/.test(name) &&
  !name.split(/[/\\]/).includes('..');
