import { readFile } from 'node:fs/promises';
import { encodeHeader, parseHeader, parsePrefix, prefixBytes } from '../checkpoint/header.js';
import { isObject } from '../checkpoint/json.js';
import { LayerloomError, reasonOf } from '../errors.js';
import type { MavVectors } from './analysis.js';

/** What the metadata's `mav` holds says, beside the vectors. */
const formatName = 'layerloom-mav-1';

/**
 * `NAME.mav.safetensors`: one F32 tensor [rows] for each parameter, under its name, and in `__metadata__` all else that an analysis
 * needs.
 */
export const encodeVectors = ({ vectors, ...facts }: MavVectors): Uint8Array[] => {
  const entries = [...vectors].map(([name, { length, byteLength: bytes }]) => ({
    name,
    dtype: 'F32' as const,
    shape: [length],
    bytes,
  }));
  const header = encodeHeader(entries, { format: formatName, mav: JSON.stringify(facts) });
  return [
    header,
    ...[...vectors.values()].map(
      (vector) => new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength),
    ),
  ];
};

/** @throws LayerloomError READ_FAILED, VECTORS_INVALID, and the codes of a header */
export const readVectors = async (file: string): Promise<MavVectors> => {
  const bytes = await readFile(file).catch((cause: unknown) => {
    throw new LayerloomError('READ_FAILED', { file, reason: reasonOf(cause) }, { cause });
  });
  const begin = prefixBytes + parsePrefix(bytes, file, bytes.length);
  const { metadata, tensors } = parseHeader(bytes.subarray(prefixBytes, begin), file, bytes.length - begin);
  const invalid = (reason: string) => new LayerloomError('VECTORS_INVALID', { file, reason });
  if (metadata['format'] !== formatName) throw invalid('is not a file of MAV vectors');
  const facts: unknown = JSON.parse(metadata['mav'] ?? 'null');
  if (!isObject(facts) || !isObject(facts['tensors'])) throw invalid('its metadata is incomplete');
  const vectors = new Map<string, Float32Array>();
  for (const [name, tensor] of tensors) {
    if (tensor.dtype !== 'F32' || !(name in facts['tensors']))
      throw invalid(`tensor ${name} is no vector of MAV`);
    // A copy: data may begin anywhere, a Float32Array only at a multiple of four.
    const data = bytes.buffer.slice(
      bytes.byteOffset + begin + tensor.begin,
      bytes.byteOffset + begin + tensor.end,
    );
    vectors.set(name, new Float32Array(data as ArrayBuffer));
  }
  return { ...(facts as unknown as Omit<MavVectors, 'vectors'>), vectors };
};
