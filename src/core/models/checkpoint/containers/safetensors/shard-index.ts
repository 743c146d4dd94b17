import { LayerloomError, reasonOf } from '../../../../base/errors/errors.js';
import { parseJson } from '../../../../texts/json.js';
import { staysInside } from '../../../address/file-name.js';
import { isObject } from '../../files/json.js';

export const singleFileName = 'model.safetensors';
export const indexFileName = 'model.safetensors.index.json';

export const diffusersFileName = 'diffusion_pytorch_model.safetensors';
export const diffusersIndexName = 'diffusion_pytorch_model.safetensors.index.json';

export const shardFileName = (index: number, count: number): string => {
  const digits = (n: number) => String(n).padStart(5, '0');
  return count === 1 ? singleFileName : `model-${digits(index + 1)}-of-${digits(count)}.safetensors`;
};

/**
 * Parses `weight_map`: file names by tensor.
 *
 * @throws INDEX_INVALID, INDEX_UNSAFE_NAME
 */
export const parseShardIndex = (text: string | Uint8Array, file: string): ReadonlyMap<string, string> => {
  const invalidIndex = (reason: string, cause?: unknown) =>
    new LayerloomError('INDEX_INVALID', { file, reason }, { cause });
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (cause) {
    throw invalidIndex(`${reasonOf(cause)}; write or download the index again`, cause);
  }
  const weightMap = isObject(value) ? value['weight_map'] : undefined;
  if (!isObject(weightMap)) throw invalidIndex('has no weight_map');
  if (Object.keys(weightMap).length === 0)
    throw invalidIndex('its weight_map names no tensors; write or download the index again');
  for (const [tensor, name] of Object.entries(weightMap)) {
    if (typeof name !== 'string') throw invalidIndex(`weight_map gives no file name for ${tensor}`);
    if (!staysInside(name)) throw new LayerloomError('INDEX_UNSAFE_NAME', { file, tensor, name });
  }
  return new Map(Object.entries(weightMap as Record<string, string>));
};

/** Writes the index as the hub's libraries do: two spaces, sorted names, a final newline. */
export const encodeShardIndex = (
  weightMap: ReadonlyMap<string, string>,
  metadata: { total_parameters: number; total_size: number },
): string => {
  const sorted = [...weightMap.keys()].sort().map((name) => [name, weightMap.get(name)]);
  return `${JSON.stringify({ metadata, weight_map: Object.fromEntries(sorted) }, null, 2)}\n`;
};
