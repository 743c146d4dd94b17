import * as z from 'zod';
import { LayerloomError } from '../../base/errors/errors.js';
import { reading } from '../../base/files/writing.js';
import { keptValue } from '../../base/way.js';
import { layerCount, layerNumber } from '../../models/architecture/layer-numbers.js';
import { encodeHeader } from '../../models/checkpoint/containers/safetensors/header.js';
import { safetensorsReader } from '../../models/checkpoint/containers/safetensors/reader.js';
import { readSmallFile } from '../../models/checkpoint/files/small-file.js';
import { jsonOrNone, ownFile } from '../../texts/json.js';
import type { MavVectors } from './analysis.js';

/** Four bytes per row: about 1 GB for the largest mixtures of experts. */
const limit = { most: 2 ** 31 - 1, what: 'a file of MAV vectors' };

const formatName = 'layerloom-mav-1';

/** Encodes `NAME.mav.safetensors`: an F32 tensor [rows] per parameter, other fields as JSON metadata. */
export const encodeVectors = ({ vectors, ...facts }: MavVectors): Uint8Array[] => {
  const entries = [...vectors].map(([name, { length, byteLength: bytes }]) => ({
    name,
    dtype: 'F32' as const,
    shape: [length],
    bytes,
  }));
  const header = encodeHeader(entries, { format: formatName, mav: JSON.stringify(facts, keptValue) });
  return [
    header,
    ...[...vectors.values()].map(
      (vector) => new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength),
    ),
  ];
};

/** @throws READ_FAILED, VECTORS_INVALID, and the codes of a safetensors header */
export const readVectors = async (file: string): Promise<MavVectors> => {
  const bytes = await reading(file, () => readSmallFile(file, limit));
  const header = bytes.subarray(0, safetensorsReader.headerEnd(bytes, file, bytes.length));
  const { metadata, tensors } = safetensorsReader.parseHeader(header, file, bytes.length);
  const invalidVectors = (reason: string) => new LayerloomError('VECTORS_INVALID', { file, reason });
  if (metadata['format'] !== formatName) throw invalidVectors('is not a file of MAV vectors');
  const facts = metadata['mav'] === undefined ? undefined : parseFacts(metadata['mav']);
  if (facts === undefined) throw invalidVectors('its metadata is damaged');
  const vectors = new Map<string, Float32Array>();
  for (const [name, { rows }] of Object.entries(facts.tensors)) {
    const tensor = tensors.get(name);
    if (tensor?.dtype !== 'F32' || tensor.shape.length !== 1 || tensor.shape[0] !== rows)
      throw invalidVectors(`it has no vector of ${rows} rows for ${name}`);
    // Copies, because a Float32Array must begin at a multiple of four.
    const copy = Uint8Array.from(bytes.subarray(tensor.begin, tensor.end));
    vectors.set(name, new Float32Array(copy.buffer));
  }
  return { ...facts, vectors };
};

const modelSchema = z.object({
  name: z.string(),
  path: z.string(),
  files: z.array(
    z.object({
      path: z.string(),
      bytes: z.number(),
      mtimeNs: z.string(),
      header: z.string(),
      content: z.string().exactOptional(),
    }),
  ),
});

export const factsSchema = z.object({
  name: z.string().min(1),
  rows: z.enum(['input', 'output']),
  base: modelSchema,
  expert: modelSchema,
  family: z.string(),
  layers: layerCount,
  tensors: z.record(
    z.string(),
    z.object({
      rows: z.int().positive(),
      parametersPerRow: z.int().positive(),
      layer: layerNumber.nullable(),
      module: z.string(),
      meanMav: z.number().nonnegative(),
      nonFiniteRows: z.int().nonnegative(),
    }),
  ),
});

const parseFacts = (text: string): z.output<typeof factsSchema> | undefined =>
  factsSchema.safeParse(jsonOrNone(text, ownFile)).data;
