import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { expertNamesOf, familyOf, matricesOf } from '../experts/family.js';
import { matricesIn } from '../experts/separated.js';
import type { Adapter, ExpertLayout, LowRankPair } from './adapter.js';

/** Families whose expert modules set `is_transposed` in transformers 5: matrices are stored as [in, out]. */
const saidTransposed = new Set(['gpt_oss', 'openai_privacy_filter', 'aria_text']);

/** Families in which some files store experts transposed, which a square matrix's shape does not show. */
const maybeTransposed = new Set(['qwen3_vl_moe', 'qwen3_vl_moe_text']);

/** True if a base has a parameter, either fused or as separate expert matrices. */
export const hasParameter = (base: CheckpointIndex, parameter: string): boolean =>
  base.tensors.has(parameter) || firstMatrix(base, parameter) !== undefined;

const firstMatrix = (base: CheckpointIndex, parameter: string): string | undefined => {
  const [first] = matricesOf(expertNamesOf(base), parameter, 0) ?? [];
  return first !== undefined && base.tensors.has(first) ? first : undefined;
};

/** A base tensor, and its first row in the fused parameter. */
interface FusedRows {
  readonly name: string;
  readonly row: number;
}

/** A fused parameter: the shape of an expert's matrix, and the base tensors that form it. */
interface Experts {
  readonly matrix: readonly [rows: number, columns: number];
  readonly count: number;
  readonly parts: readonly FusedRows[];
}

/**
 * Returns an adapter's pairs by base tensor. If the base stores experts separately, each matrix gets its rows
 * of a fused parameter's pair.
 *
 * @param adapter with parameters named as in the base's files
 * @throws ADAPTER_MISMATCH, ADAPTER_UNSUPPORTED
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
      throw mismatch(`has ${count} experts in the base, and factors for ${experts.count} in the adapter`);
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
        `has matrices [${matrix.join(', ')}] in the base, and the product of ${pair.names.b} and ${pair.names.a} for each expert is [${itemAt(pair.b.shape, 0)}, ${itemAt(pair.a.shape, 1)}]`,
      );
    for (const { name, row } of parts) found.set(name, { ...pair, transposed, experts: { ...experts, row } });
  }
  return found;
};

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

/** Returns whether the factors belong to transposed matrices; undefined if they fit neither way. */
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
 * PEFT's `ParamWrapper` took the first dimension as inputs before 0.19. 0.19.0 took the second for families
 * with `is_transposed`; later versions take the second for all other families.
 */
const isTransposedWhereSquare = (layout: ExpertLayout, family: string): boolean => {
  if (layout === 'before 0.19') return true;
  return saidTransposed.has(family) === (layout === 'since 0.19.1');
};

/**
 * Returns replacements by base tensor; if the base stores experts separately, one for each matrix.
 *
 * @throws ADAPTER_MISMATCH
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
        throw mismatchOf(
          base,
          adapter,
          parameter,
          `has other experts in the base than [${shape.join(', ')}] in the adapter`,
        );
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
      throw mismatch(
        `is [${whole.shape.join(', ')}] in the base, and the adapter has factors for ${wanted} experts`,
      );
    return { matrix: [rows, columns], count, parts: [{ name: parameter, row: 0 }] };
  }
  const names = expertNamesOf(base);
  const shapeOf = (name: string): readonly number[] => base.tensors.get(name)?.shape ?? [];
  const first = matricesOf(names, parameter, 0) ?? [];
  const columns = shapeOf(first[0] ?? '')[1];
  if (columns === undefined) throw mismatch('is not in the base');
  const rowsOf = first.map((name) => itemAt(shapeOf(name), 0));
  const parts: FusedRows[] = [];
  let [count, row] = [0, 0];
  // Counts up to one expert more than wanted, so that a base with more experts is noticed.
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
