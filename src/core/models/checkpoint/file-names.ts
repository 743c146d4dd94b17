/** The provenance file, which also marks a directory as ours to replace. Written last. */
export const provenanceName = 'layerloom.json';

/** The file that makes a directory a store of shards. */
export const storeMarkerName = 'layerloom-store.json';

/** The model card. */
export const cardName = 'README.md';

/** The file that makes a directory an adapter of PEFT. */
export const adapterConfigName = 'adapter_config.json';

/** The weights of an adapter of PEFT. */
export const adapterWeightsName = 'adapter_model.safetensors';

/** Those, and the file in which PEFT looks for them next. */
export const adapterWeightsNames: readonly string[] = [adapterWeightsName, 'adapter_model.bin'];

/** The configuration of a model. */
export const configName = 'config.json';
