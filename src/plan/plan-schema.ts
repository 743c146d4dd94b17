import { isAbsolute } from 'node:path';
import { z } from 'zod';
import type { FileIdentity, FileState } from '../checkpoint/checkpoint.js';
import { isObject } from '../checkpoint/json.js';
import type { Formula, Pruning, Sparsifier } from '../operations/expression.js';
import { type Dtype, isDtype } from '../tensor/dtype.js';
import type {
  Cost,
  MergePlan,
  PlannedExpression,
  PlannedFile,
  PlannedShard,
  PlannedTensor,
  StoredTensor,
} from './plan.js';

// The structure of a plan: which keys, of which types, and numbers that mean something. What parts say of each other is for
// check-plan.ts. A key that is not known is refused: it might be what a later version means something by.

const count = z.int().nonnegative();
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const finite = z.number();
const text = z.string();
/** Decimal digits of what a float64 may not hold. */
const digits = z.string().regex(/^-?\d{1,40}$/);
const dtype = z.custom<Dtype>(isDtype, { error: 'no known dtype' });
const path = z
  .string()
  .refine((value) => isAbsolute(value) && !value.includes('\0'), { error: 'no absolute path' });
/** Above 0, at most 1. */
const share = z.number().positive().max(1);

/** A plan's expression before its operands are parsed. */
export type UnparsedExpression =
  | { readonly kind: 'copy'; readonly source: unknown }
  | { readonly kind: 'same'; readonly sources: readonly unknown[] }
  | Formula<unknown>;

type Kind = UnparsedExpression['kind'];
type OfKind<K extends Kind> = Extract<UnparsedExpression, { kind: K }>;

/** A schema of objects that one key tells apart. They stand in a record, so that the compiler misses one that is not there. */
const oneOf = <T>(key: string, schemas: Readonly<Record<string, z.ZodType<T>>>): z.ZodType<T> =>
  z.discriminatedUnion(key, Object.values(schemas) as never) as unknown as z.ZodType<T>;

const sparsifiers = {
  magnitude: z.strictObject({ by: z.literal('magnitude'), density: share, least: count }),
  outliers: z.strictObject({ by: z.literal('outliers'), density: share, gamma: z.number().min(0).max(1) }),
  random: z.strictObject({ by: z.literal('random'), density: share, seed: text }),
  rank: z
    .strictObject({ by: z.literal('rank'), density: share, epsilon: z.number().nonnegative(), seed: text })
    .refine(({ density, epsilon }) => density - epsilon >= 0 && density + epsilon <= 1, {
      error: 'density ± epsilon is no probability',
    }),
  threshold: z.strictObject({ by: z.literal('threshold'), atLeast: z.number().nonnegative() }),
} satisfies { readonly [By in Sparsifier['by']]: z.ZodType<Extract<Sparsifier, { by: By }>> };

const pruning = z.strictObject({
  sparsifier: oneOf<Sparsifier>('by', sparsifiers),
  rescale: z.enum(['norm', 'density']).nullable(),
}) satisfies z.ZodType<Pruning>;

const operand = z.unknown();
const operands = z.array(operand).min(1);

const expressions = {
  copy: z.strictObject({ kind: z.literal('copy'), source: operand }),
  same: z.strictObject({ kind: z.literal('same'), sources: operands }),
  linear: z.strictObject({
    kind: z.literal('linear'),
    terms: z.array(z.strictObject({ source: operand, weight: finite })).min(1),
  }),
  rowSelect: z.strictObject({
    kind: z.literal('rowSelect'),
    source: operand,
    base: operand,
    rows: z.enum(['input', 'output']),
    kept: text,
  }),
  gram: z.strictObject({
    kind: z.literal('gram'),
    rule: text,
    origin: operand,
    sources: operands,
    of: z.enum(['tensor', 'input', 'output']),
    parameters: z.record(text, z.union([finite, z.boolean(), text, z.array(finite)])),
  }),
  consensus: z.strictObject({
    kind: z.literal('consensus'),
    base: operand,
    terms: z.array(z.strictObject({ source: operand, weight: finite, pruning: pruning.nullable() })).min(1),
    election: z.strictObject({ weighted: z.boolean(), tie: z.enum(['positive', 'negative']) }).nullable(),
    divisor: z.enum(['none', 'weights', 'count']),
    scale: finite,
  }),
  sce: z.strictObject({ kind: z.literal('sce'), base: operand, sources: operands, share }),
  nearSwap: z.strictObject({ kind: z.literal('nearSwap'), base: operand, source: operand, t: finite }),
  fusion: z.strictObject({ kind: z.literal('fusion'), base: operand, source: operand }),
} satisfies { readonly [K in Kind]: z.ZodType<OfKind<K>> };

export const expressionSchema = oneOf<UnparsedExpression>('kind', expressions);

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
