import type { RowRange } from '../methods/operations/rows/assemble.js';
import type { DoraChange } from '../models/adapters/kinds/dora.js';
import { type AdapterChange, changeIn } from '../models/adapters/kinds/kinds.js';
import type { LowRankChange } from '../models/adapters/kinds/lora.js';
import type { MultipliedChange } from '../models/adapters/kinds/multiplied.js';
import type { RowsChange } from '../models/adapters/kinds/rows.js';
import { type Dtype, isFloating } from '../tensor/dtype.js';
import type { TensorReference } from '../tensor/reference.js';
import { operandKind, storedTensor } from '../tensor/stored-tensor.js';
import { blockTensor } from './operands/blocks.js';
import { computedTensor } from './operands/computed.js';
import { doraTensor } from './operands/dora.js';
import { factoredTensor } from './operands/factored.js';
import { gatheredTensor } from './operands/gathered.js';
import { type LowRankTensor, lowRankTensor } from './operands/low-rank.js';
import { multipliedTensor } from './operands/multiplied.js';
import { tensorInPieces } from './operands/pieces.js';
import { quantisedTensor } from './operands/quantised.js';
import { inDtype } from './operands.js';
import type { Operand } from './plan.js';

export interface Addition {
  readonly change: Operand;
  readonly scale: number;
}

const productOf = (
  input: number,
  { rank, transposed, experts, a, b }: Omit<LowRankChange, 'kind'>,
): LowRankTensor =>
  lowRankTensor({ rank, transposed, experts, a: storedTensor(input, a), b: storedTensor(input, b) });

type Kinds = { readonly [Change in AdapterChange as Change['kind']]: Change };

/** Returns what a change adds to the base; undefined for kinds that do not add. */
const additions: {
  readonly [Kind in keyof Kinds]: (input: number, change: Kinds[Kind]) => Operand | undefined;
} = {
  lowRank: productOf,
  added: (input, { tensor }) => storedTensor(input, tensor),
  factored: (input, { kronecker, factors }) =>
    factoredTensor({
      kronecker,
      factors: factors.map((pieces) =>
        pieces.map((piece) => ({ ...piece, source: storedTensor(input, piece.source) })),
      ),
    }),
  dora: () => undefined,
  multiplied: () => undefined,
  rows: () => undefined,
};

export const additionOf = <Kind extends keyof Kinds>(
  input: number,
  change: Kinds[Kind] & { readonly kind: Kind },
): Addition | undefined => {
  const added = additions[change.kind](input, change);
  return added && { change: added, scale: 'scale' in change ? change.scale : 1 };
};

const normalised = (input: number, dtype: Dtype, base: Operand, change: DoraChange): Operand => {
  if (!isFloating(dtype)) throw new Error(`an adapter changes a tensor of ${dtype}`);
  if (base[operandKind] !== 'stored') throw new Error('norms are taken of stored tensors');
  const [product, magnitudes] = [productOf(input, change), storedTensor(input, change.magnitudes)];
  return doraTensor({ dtype, tensor: base, product, scale: change.scale, magnitudes });
};

const multipliedBy = (input: number, dtype: Dtype, base: Operand, { by }: MultipliedChange): Operand => {
  if (!isFloating(dtype)) throw new Error(`an adapter changes a tensor of ${dtype}`);
  if (base[operandKind] !== 'stored') throw new Error('an adapter multiplies stored tensors');
  const multipliers = by.map((one) => ({ ...one, source: storedTensor(input, one.source) }));
  return multipliedTensor({ dtype, tensor: base, multipliers });
};

/** Replaces the base's rows by the adapter's, bit for bit if dtypes agree. */
const withRows = (
  input: number,
  { dtype, shape: [count = 0] }: TensorReference,
  base: Operand,
  { rows, tensor }: RowsChange,
): Operand => {
  const given = gatheredTensor(count, rows, storedTensor(input, tensor));
  const kept: RowRange[] = [];
  let next = 0;
  for (const [to, , length] of rows) {
    if (to > next) kept.push([next, to - next]);
    next = to + length;
  }
  if (next < count) kept.push([next, count - next]);
  const parts = [
    { source: inDtype(base, dtype), rows: kept },
    { source: inDtype(given, dtype), rows: rows.map(([to, , length]): RowRange => [to, length]) },
  ];
  return computedTensor(dtype, { kind: 'assemble', parts: parts.filter((part) => part.rows.length > 0) });
};

const adapted = (
  input: number,
  reference: TensorReference,
  base: Operand,
  change: AdapterChange,
): Operand => {
  const { dtype } = reference;
  if (change.kind === 'multiplied') return multipliedBy(input, dtype, base, change);
  if (change.kind === 'rows') return withRows(input, reference, base, change);
  if (change.kind === 'dora') return normalised(input, dtype, base, change);
  const addition = additionOf(input, change);
  if (addition === undefined) throw new Error(`no operand of the change ${change.kind}`);
  const terms = [
    { source: base, weight: 1 },
    { source: addition.change, weight: addition.scale },
  ];
  return computedTensor(dtype, { kind: 'linear', terms });
};

const unchanged = (input: number, reference: TensorReference): Operand => {
  const { quantised, blocks, pieces } = reference;
  if (quantised !== undefined) return quantisedTensor(input, reference, quantised);
  if (pieces !== undefined) return tensorInPieces(input, reference, pieces);
  return blocks === undefined ? storedTensor(input, reference) : blockTensor(input, reference, blocks);
};

/**
 * Returns a tensor as an operand; as float32 if it is quantised or in blocks. With an adapter, rounds to the
 * tensor's dtype, so that a merge gives the same bits as if the adapter had been applied and written first.
 *
 * @param input index of the model in the plan's inputs
 */
export const operandOf = (input: number, reference: TensorReference): Operand => {
  const base = unchanged(input, reference);
  const change = changeIn(reference);
  return change === undefined ? base : adapted(input, reference, base, change);
};
