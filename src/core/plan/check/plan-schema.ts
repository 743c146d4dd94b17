import { isAbsolute } from 'node:path';
import * as z from 'zod';
import { isCount } from '../../base/is-count.js';
import type { Formula } from '../../methods/operations/formula.js';
import { formulaKinds, formulaSchemas, operationOf } from '../../methods/operations/index.js';
import type { FoundModel } from '../../models/address/found-model.js';
import { originShape } from '../../models/address/origin-schema.js';
import type { FileIdentity, FileState } from '../../models/checkpoint/checkpoint.js';
import { count, dtype } from '../parse.js';
import type {
  Cost,
  MergePlan,
  PlannedDownload,
  PlannedExpression,
  PlannedFile,
  PlannedShard,
  PlannedTensor,
} from '../plan.js';

// Checks structure; check-plan.ts checks consistency. Refuses unknown keys: later versions may define them.

const text = z.string();
/** 64-bit integers as text: float64 would round large ones. */
const digits = z.string().regex(/^-?\d{1,40}$/);
const path = z
  .string()
  .refine((value) => isAbsolute(value) && !value.includes('\0'), { error: 'no absolute path' });
/** Returns the schema of a kind of formula, or of all if unknown. */
export const formulaSchema = (kind: unknown): z.ZodType<Formula<unknown>> => {
  const known = formulaKinds.find((one) => one === kind);
  if (known !== undefined) return operationOf({ kind: known }).schema as z.ZodType<Formula<unknown>>;
  return z.discriminatedUnion('kind', formulaSchemas() as never) as unknown as z.ZodType<Formula<unknown>>;
};

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const seen = z.strictObject({
  ctimeNs: digits,
  links: count,
  hash: sha256,
  hashOf: z.enum(['samples', 'bytes']),
}) satisfies z.ZodType<FileState>;

const identity = z.strictObject({
  path,
  bytes: count,
  mtimeNs: digits,
  header: sha256,
  content: text.exactOptional(),
  seen: seen.exactOptional(),
}) satisfies z.ZodType<FileIdentity>;

const found = z.strictObject({ name: text, path, ...originShape }) satisfies z.ZodType<FoundModel>;

const tensor = z
  .strictObject({
    name: text,
    dtype,
    shape: z.array(z.number()),
    begin: z.number(),
    end: z.number(),
    layer: z.number().nullable(),
    expression: z.unknown(),
    part: z.strictObject({ name: text, shape: z.array(count) }).exactOptional(),
  })
  // A single check for all numbers, because separate schemas take twice as long.
  .refine(
    ({ shape, begin, end, layer }) =>
      shape.every(isCount) && isCount(begin) && isCount(end) && (layer === null || isCount(layer)),
    { error: 'one of its numbers is not a whole number from 0 on' },
  ) satisfies z.ZodType<Unparsed<PlannedTensor>>;

const shard = z.strictObject({
  file: text,
  bytes: count,
  verbatim: z.strictObject({ input: count, file: count }).exactOptional(),
  tensors: z.array(tensor).min(1),
}) satisfies z.ZodType<UnparsedShard>;

const file = z.union([
  z.strictObject({ name: text, text }),
  z.strictObject({ name: text, copyOf: path }),
]) satisfies z.ZodType<PlannedFile>;

/** Copies the recipe, which is only shown and recorded. */
const recipe = z.record(text, z.unknown()).transform((value, context): Record<string, unknown> => {
  try {
    return JSON.parse(JSON.stringify(value));
  } catch {
    context.addIssue('it cannot be written as JSON');
    return z.NEVER;
  }
});

const cost = z.strictObject({
  bytesToRead: count,
  bytesToMeasure: count,
  bytesToWrite: count,
  bytesCopied: count,
  bytesComputed: count,
  bytesVerbatim: count,
  parameters: count,
}) satisfies z.ZodType<Cost>;

const download = z.strictObject({
  bytes: count,
  models: z.array(z.strictObject({ model: text, bytes: count, of: count })),
}) satisfies z.ZodType<PlannedDownload>;

type Unparsed<T extends { readonly expression: PlannedExpression }> = Omit<T, 'expression'> & {
  readonly expression: unknown;
};

export type UnparsedTensor = Unparsed<PlannedTensor>;
export type UnparsedShard = Omit<PlannedShard, 'tensors'> & { readonly tensors: readonly UnparsedTensor[] };

export const planSchema = z.strictObject({
  layerloom: text,
  method: text,
  title: text,
  form: z.literal('adapter').exactOptional(),
  allowNonFinite: z.literal(true).exactOptional(),
  recipe,
  completeRecipe: recipe,
  architecture: z.strictObject({ family: text, naming: text, layers: count }),
  inputs: z.array(
    z.strictObject({
      role: text,
      name: text,
      path,
      ...originShape,
      adapted: z.strictObject({ base: found, adapter: found, config: sha256 }).exactOptional(),
      files: z.array(identity),
    }),
  ),
  shards: z.array(shard).min(1),
  files: z.array(file),
  cost,
  download: download.exactOptional(),
  warnings: z.array(text),
}) satisfies z.ZodType<Omit<MergePlan, 'shards'> & { readonly shards: readonly UnparsedShard[] }>;
