import { LayerloomError } from '../../base/errors.js';
import { itemAt } from '../../base/lookup.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { expertNamesOf, familyOf, matricesOf } from '../experts/family.js';
import { matricesIn } from '../experts/separated.js';
import type { Adapter, ExpertLayout, LowRankPair } from './adapter.js';

/** Families whose modules say of themselves that their experts are stored as [in, out] (`is_transposed` in transformers 5). */
const saidTransposed = new Set(['gpt_oss', 'openai_privacy_filter', 'aria_text']);

/** Families whose files have square experts transposed to those of the model, or may have: shapes do not tell. */
const maybeTransposed = new Set(['qwen3_vl_moe', 'qwen3_vl_moe_text']);

/** True if a base has a parameter, or the matrices of experts that it is made of. */
export const hasParameter = (base: CheckpointIndex, parameter: string): boolean =>
  base.tensors.has(parameter) || firstMatrix(base, parameter) !== undefined;

const firstMatrix = (base: CheckpointIndex, parameter: string): string | undefined => {
  const [first] = matricesOf(expertNamesOf(base), parameter, 0) ?? [];
  return first !== undefined && base.tensors.has(first) ? first : undefined;
};

/** A tensor of the base as rows of a parameter that has the matrices of all experts, one below the other. */
interface Part {
  readonly name: string;
  readonly row: number;
}

/** A parameter of experts: the extents of each expert's matrix, and the base's tensors that it is made of. */
interface Experts {
  readonly matrix: readonly [rows: number, columns: number];
  readonly count: number;
  readonly parts: readonly Part[];
}

/**
 * Returns an adapter's pairs by the tensors of the base: a pair of experts stands for each matrix of theirs, where the base
 * has each by itself, with the rows that are its own.
 *
 * @param adapter its parameters named as the base's files name them
 * @throws LayerloomError ADAPTER_MISMATCH, ADAPTER_UNSUPPORTED
 */
export const pairsByTensor = (base: CheckpointIndex, adapter: Adapter): ReadonlyMap<string, LowRankPair> => {
  const { checkpoint, config, pairs } = adapter;
  const found = new Map<string, LowRankPair>();
  for (const [parameter, pair] of pairs) {
    const { experts } = pair;
    if (experts === undefined) {
      found.set(parameter, pair);
      continue;
    }
    const mismatch = (reason: string) => mismatchOf(base, adapter, parameter, reason);
    const { matrix, count, parts } = expertsIn(base, parameter, experts.count, mismatch);
    if (count !== experts.count)
      throw mismatch(`has ${count} experts there, and factors for ${experts.count} here`);
    const transposed = isTransposed(matrix, pair, () => {
      const family = familyOf(base);
      if (!maybeTransposed.has(family)) return isTransposedWhereSquare(config.expertLayout, family);
      throw new LayerloomError('ADAPTER_UNSUPPORTED', {
        file: itemAt(checkpoint.files, 0).path,
        what: `tensor ${pair.names.a}`,
        reason: `changes square matrices of ${family}, which its files may have transposed`,
      });
    });
    if (transposed === undefined)
      throw mismatch(
        `has matrices [${matrix.join(', ')}] there, and the product of ${pair.names.b} and ${pair.names.a} for each expert is [${itemAt(pair.b.shape, 0)}, ${itemAt(pair.a.shape, 1)}]`,
      );
    for (const { name, row } of parts) found.set(name, { ...pair, transposed, experts: { count, row } });
  }
  return found;
};

/** The error for an adapter whose tensor does not fit its base. */
export const mismatchOf = (
  base: CheckpointIndex,
  { checkpoint, config }: Adapter,
  tensor: string,
  reason: string,
): LayerloomError =>
  new LayerloomError('ADAPTER_MISMATCH', {
    adapter: checkpoint.path,
    base: base.path,
    tensor,
    reason,
    trainedOn: config.base,
  });

/** Returns whether factors are those of transposed matrices; undefined where they fit neither way. */
const isTransposed = (
  [rows, columns]: Experts['matrix'],
  { a, b }: LowRankPair,
  whereSquare: () => boolean,
): boolean | undefined => {
  const [out, inner] = [itemAt(b.shape, 0), itemAt(a.shape, 1)];
  const isPlain = out === rows && inner === columns;
  const isOther = inner === rows && out === columns;
  if (isPlain && isOther) return whereSquare();
  return isPlain || isOther ? isOther : undefined;
};

/**
 * PEFT took the first dimension of each matrix for that of inputs before 0.19; 0.19.0 the second in families that say that
 * they are transposed; later versions the second in all others (`ParamWrapper`).
 */
const isTransposedWhereSquare = (layout: ExpertLayout, family: string): boolean => {
  if (layout === 'before 0.19') return true;
  return saidTransposed.has(family) === (layout === 'since 0.19.1');
};

/**
 * Returns what an adapter has in the place of the base's parameters, by the tensors of the base: a fused parameter that is
 * saved whole stands for each matrix of its experts, where the base has each by itself.
 *
 * @throws LayerloomError ADAPTER_MISMATCH
 */
export const replacedByTensor = (base: CheckpointIndex, adapter: Adapter): Adapter['replaced'] => {
  const names = expertNamesOf(base);
  return new Map(
    [...adapter.replaced].flatMap(([parameter, { name, tensor }]) => {
      const isOfExperts = !base.tensors.has(parameter) && firstMatrix(base, parameter) !== undefined;
      if (!isOfExperts) return [[parameter, { name, tensor }] as const];
      const { shape } = tensor;
      const [experts = 0] = shape;
      const [more] = matricesOf(names, parameter, experts) ?? [];
      if (shape.length !== 3 || shape.includes(0) || base.tensors.has(more ?? ''))
        throw mismatchOf(base, adapter, parameter, `has other experts there than [${shape.join(', ')}] here`);
      return matricesIn(names, parameter, tensor).map(
        ([matrix, part]) => [matrix, { name, tensor: part }] as const,
      );
    }),
  );
};

const expertsIn = (
  base: CheckpointIndex,
  parameter: string,
  wanted: number,
  mismatch: (reason: string) => LayerloomError,
): Experts => {
  const whole = base.tensors.get(parameter);
  if (whole !== undefined) {
    const [count, rows, columns, more] = whole.shape;
    if (count === undefined || rows === undefined || columns === undefined || more !== undefined)
      throw mismatch(`is [${whole.shape.join(', ')}] there, and factors for ${wanted} experts are here`);
    return { matrix: [rows, columns], count, parts: [{ name: parameter, row: 0 }] };
  }
  const names = expertNamesOf(base);
  const shapeOf = (name: string): readonly number[] => base.tensors.get(name)?.shape ?? [];
  const first = matricesOf(names, parameter, 0) ?? [];
  const columns = shapeOf(first[0] ?? '')[1];
  if (columns === undefined) throw mismatch('is not there');
  const rowsOf = first.map((name) => itemAt(shapeOf(name), 0));
  const parts: Part[] = [];
  let [count, row] = [0, 0];
  // One more than is wanted, so that a base of more experts is told.
  for (; count <= wanted; count += 1) {
    const matrices = matricesOf(names, parameter, count) ?? [];
    if (!matrices.every((name) => base.tensors.has(name))) break;
    for (const [index, name] of matrices.entries()) {
      const rows = itemAt(rowsOf, index);
      if (shapeOf(name).join() !== [rows, columns].join())
        throw mismatch(`has ${name} of another shape than that of the first expert`);
      parts.push({ name, row });
      row += rows;
    }
  }
  return { matrix: [rowsOf.reduce((sum, rows) => sum + rows, 0), columns], count, parts };
};
