import * as z from 'zod';
import { layerloomCommand } from '../../base/errors/command-line.js';
import { LayerloomError } from '../../base/errors/errors.js';
import { readFailed } from '../../base/files/writing.js';
import { layerCount } from '../../models/architecture/layer-numbers.js';
import { readJsonFile } from '../../models/checkpoint/files/json-file.js';
import { granularities, type Partition, partitionFormat, partNames } from './partition.js';

const names = z.array(z.string().min(1).max(1_000));
const each = <Value extends z.ZodType>(value: Value) =>
  z.object({ language: value, task: value, both: value, neither: value });
const expert = z.object({ name: z.string(), file: z.string() });
const norms = z.enum(['layer', 'others']);
const part = z.enum(partNames);

const schema = z.object({
  format: z.literal(partitionFormat),
  base: z.object({ name: z.string(), path: z.string() }),
  family: z.string(),
  layers: layerCount.positive(),
  stack: z.string().min(1).max(1_000),
  found: z.discriminatedUnion('by', [
    z.object({
      by: z.literal('location'),
      bottom: z.int().nonnegative(),
      top: z.int().nonnegative(),
      others: part,
      norms,
    }),
    z.object({
      by: z.literal('analysis'),
      language: expert,
      task: expert,
      granularity: z.enum(granularities),
      others: part.nullable(),
      norms,
    }),
  ]),
  parts: each(names),
  linear: each(names),
  parameters: each(z.int().nonnegative()),
});

/** @throws READ_FAILED; PARTITION_INVALID if the file is not a partition, or a parameter is in two parts */
export const readPartition = async (file: string): Promise<Partition> => {
  const invalidPartition = (reason: string, cause?: unknown): LayerloomError =>
    new LayerloomError(
      'PARTITION_INVALID',
      { file, reason, remedy: `give a partition.json that \`${layerloomCommand('partition')}\` wrote` },
      { cause },
    );
  const data = await readJsonFile(file, {
    schema,
    what: 'a partition',
    fail: ({ reason, cause, isRead }) => (isRead ? invalidPartition(reason, cause) : readFailed(file, cause)),
  });
  const seen = new Set<string>();
  for (const name of partNames.flatMap((each) => data.parts[each])) {
    if (seen.has(name)) throw invalidPartition(`${name} is in it twice`);
    seen.add(name);
  }
  return data;
};
