import { basename } from 'node:path';
import { LayerloomError } from '../../../../base/errors/errors.js';
import { parseJson } from '../../../../texts/json.js';
import { isObject } from '../../files/json.js';

/** The key under which torch.distributed.checkpoint notes the places of parts of tensors. */
const key = 'DCP_SHARDING_INFO';

const partName = /^shard-\d+-model-\d+-of-\d+\.safetensors$/;

/** True for a file written by one process of a distributed save. */
export const isPart = (name: string): boolean => partName.test(name);

/**
 * Refuses a file with parts of tensors, which its header lists as if whole. No file says how many parts there
 * are, so a missing one would go unnoticed.
 *
 * @throws WEIGHTS_UNSUPPORTED
 */
export const refuseParts = (metadata: Readonly<Record<string, string>>, file: string): void => {
  const places = metadata[key];
  if (places === undefined || (!isPart(basename(file)) && areWhole(places))) return;
  throw new LayerloomError('WEIGHTS_UNSUPPORTED', {
    file,
    reason: `it holds parts of tensors, as HuggingFaceStorageWriter saves them (${key})`,
    remedy:
      'join all its files into whole tensors with torch.distributed.checkpoint._consolidate_hf_safetensors.consolidate_safetensors_files, and give the result',
  });
};

const areWhole = (text: string): boolean => {
  try {
    const places = parseJson(text);
    return isObject(places) && Object.values(places).every(isAtStart);
  } catch {
    return false;
  }
};

const isAtStart = (place: unknown): boolean => {
  const offsets = isObject(place) ? place['saved_offsets'] : undefined;
  return Array.isArray(offsets) && offsets.every((offset) => offset === 0);
};
