/** The provenance file, written last. It marks a directory as an output, which a merge may replace. */
export const provenanceName = 'layerloom.json';

/** An in-toto statement of how the weights were made. */
export const statementName = 'layerloom.intoto.jsonl';

/** A signature of all other files, with OpenSSF's model-signing's default name. */
export const signatureName = 'model.sig';

export const storeMarkerName = 'layerloom-store.json';

export const cardName = 'README.md';

export const adapterConfigName = 'adapter_config.json';

export const adapterWeightsName = 'adapter_model.safetensors';

/** Names in the order in which PEFT looks for them. */
export const adapterWeightsNames: readonly string[] = [adapterWeightsName, 'adapter_model.bin'];

export const configName = 'config.json';
