import { isAbsolute } from 'node:path';
import { z } from 'zod';
import type { FileIdentity, FileState } from '../checkpoint/checkpoint.js';
import { isObject } from '../checkpoint/json.js';
import type { Formula } from '../operations/formula.js';
import { formulaSchemas } from '../operations/index.js';
import { type Dtype, isDtype } from '../tensor/dtype.js';
import type { StoredTensor } from '../tensor/stored-tensor.js';
import type { Cost, MergePlan, PlannedExpression, PlannedFile, PlannedShard, PlannedTensor } from './plan.js';

// The structure of a plan: which keys, of which types, and numbers that mean something. What parts say of each other is for
// check-plan.ts. A key that is not known is refused: it might be what a later version means something by.

const count = z.int().nonnegative();
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const text = z.string();
/** Decimal digits of what a float64 may not hold. */
const digits = z.string().regex(/^-?\d{1,40}$/);
const dtype = z.custom<Dtype>(isDtype, { error: 'no known dtype' });
const path = z
  .string()
  .refine((value) => isAbsolute(value) && !value.includes('\0'), { error: 'no absolute path' });
/** A formula of a plan before its operands are parsed. */
export const formulaSchema = z.discriminatedUnion('kind', formulaSchemas as never) as unknown as z.ZodType<
  Formula<unknown>
>;

/**
 * A copy of a source, or undefined where the value is none. By hand: a plan has more of them than of all else, and zod takes four times as
 * long.
 */
export const asSource = (value: unknown): StoredTensor | undefined => {
  if (!isObject(value)) return undefined;
  const { input, file, begin, end, dtype, ...rest } = value;
  const isWhole = isCount(input) && isCount(file) && isCount(begin) && isCount(end) && isDtype(dtype);
  return isWhole && Object.keys(rest).length === 0 ? { input, file, begin, end, dtype } : undefined;
};

export const computedSchema = z.strictObject({ dtype, expression: z.unknown() });

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
  seen: seen.exactOptional(),
}) satisfies z.ZodType<FileIdentity>;

const tensor = z
  .strictObject({
    name: text,
    dtype,
    shape: z.array(z.number()),
    begin: z.number(),
    end: z.number(),
    layer: z.number().nullable(),
    expression: z.unknown(),
  })
  // All at once: number by number takes twice as long.
  .refine(
    ({ shape, begin, end, layer }) =>
      shape.every(isCount) && isCount(begin) && isCount(end) && isCount(layer ?? 0),
    { error: 'a number in it is no count' },
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

/** Shown and recorded, as JSON: here it becomes so. */
const recipe = z.record(text, z.unknown()).transform((value, context): Record<string, unknown> => {
  try {
    return JSON.parse(JSON.stringify(value));
  } catch {
    context.addIssue('it is no JSON');
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

type Unparsed<T extends { readonly expression: PlannedExpression }> = Omit<T, 'expression'> & {
  readonly expression: unknown;
};

export type UnparsedTensor = Unparsed<PlannedTensor>;
export type UnparsedShard = Omit<PlannedShard, 'tensors'> & { readonly tensors: readonly UnparsedTensor[] };

export const planSchema = z.strictObject({
  layerloom: text,
  method: text,
  title: text,
  recipe,
  architecture: z.strictObject({ family: text, naming: text, layers: count }),
  inputs: z.array(z.strictObject({ role: text, name: text, path, files: z.array(identity) })),
  shards: z.array(shard).min(1),
  files: z.array(file),
  cost,
  warnings: z.array(text),
}) satisfies z.ZodType<Omit<MergePlan, 'shards'> & { readonly shards: readonly UnparsedShard[] }>;

/** Throws an error of a reason. */
export type Refuse = (reason: string) => never;

/** The value as a schema has it: a copy, so that what was checked is what is used. */
export const parseBy = <T>(schema: z.ZodType<T>, value: unknown, refuse: Refuse): T => {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data;
  const [issue] = error.issues;
  const at = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.join('.')}: `;
  return refuse(`${at}${issue?.message}`);
};
