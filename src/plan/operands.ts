import { itemAt } from '../base/lookup.js';
import type { RowRun } from '../model/tokenizer/vocabulary.js';
import { rowWidth } from '../operations/assemble.js';
import { commonWidth } from '../operations/concatenate.js';
import type { Formula } from '../operations/formula.js';
import {
  isMove,
  mapOperands,
  operandsOf,
  operationOf,
  statisticsOf as statisticsOfFormula,
} from '../operations/index.js';
import type { Lowering } from '../operations/lowering.js';
import type { Value } from '../operations/program.js';
import { type ArithmeticDtype, arithmeticOf, type Dtype } from '../tensor/dtype.js';
import { distinctSources, type StoredTensor } from '../tensor/stored-tensor.js';
import type { ColumnTensor, ComputedTensor, GatheredTensor, LowRankTensor, Operand } from './plan.js';

/** Returns the text of a stored tensor, from which descriptions and keys of operands are made. */
type Words = (stored: StoredTensor) => string;

/**
 * Everything the rest of the tree knows about one kind of operand. Programs compute on float32 tiles of the
 * output's shape, whatever an operand is made of. An operand with another shape or slicing (a low-rank
 * product, a transposed or a dequantised tensor) is a further kind, which returns its byte ranges here and
 * appends nodes that produce its tiles.
 */
interface OperandKind<O> {
  /** Returns the byte ranges that the operand is made of, in order. */
  sources(operand: O): readonly StoredTensor[];
  /** Returns the formula that computes the operand, for kinds that are computed. */
  formula?(operand: O): Formula<Operand>;
  /** Returns its words for people. */
  describe(operand: O, nameOf: Words): string;
  /** Returns its text in a shard's key. A change invalidates such shards in every store. */
  key(operand: O, identify: Words): string;
  /**
   * Appends the operand to a program. With `asBits` its elements are moved bit by bit, and may have a dtype
   * without arithmetic.
   */
  lower(operand: O, to: Lowering, asBits: boolean): Promise<Value>;
}

interface OperandsByKind {
  stored: StoredTensor;
  computed: ComputedTensor;
  gathered: GatheredTensor;
  columns: ColumnTensor;
  lowRank: LowRankTensor;
}

const kinds: { readonly [Name in keyof OperandsByKind]: OperandKind<OperandsByKind[Name]> } = {
  stored: {
    sources: (stored) => [stored],
    describe: (stored, nameOf) => nameOf(stored),
    key: (stored, identify) => `${identify(stored)}:${stored.begin}-${stored.end}:${stored.dtype}`,
    lower: async (stored, { program }, asBits) =>
      program.source(asBits ? { ...stored, dtype: arithmeticOf(stored.dtype) } : stored),
  },
  computed: {
    sources: ({ expression }) => sourcesOf(expression),
    formula: ({ expression }) => expression,
    describe: ({ expression }, nameOf) => {
      const inner = describe(expression, nameOf);
      return inner.includes(' ') ? `(${inner})` : inner;
    },
    key: ({ dtype, expression }, identify) => `(${dtype} ${keyOf(expression, identify)})`,
    lower: async ({ dtype, expression }, to) => {
      const value = await lower(expression, dtype as ArithmeticDtype, to);
      to.program.markResult(value);
      return value;
    },
  },
  gathered: {
    sources: ({ source }) => [source],
    describe: ({ source }, nameOf) => nameOf(source),
    key: ({ rows, runs, source }, identify) =>
      `[${rows} rows ${runs.map((run) => run.join(' ')).join(',')} of ${kinds.stored.key(source, identify)}]`,
    lower: async ({ runs, source }, { program }, asBits) =>
      program.gather(
        asBits ? { ...source, dtype: arithmeticOf(source.dtype) } : source,
        rowWidth(program.shape),
        runs,
      ),
  },
  columns: {
    sources: ({ source }) => [source],
    describe: ({ source }, nameOf) => nameOf(source),
    key: ({ columns, first, count, source }, identify) =>
      `[columns ${first} ${count} of ${columns} of ${kinds.stored.key(source, identify)}]`,
    lower: async ({ columns, first, count, source }, { program }, asBits) => {
      const width = commonWidth([columns, first, count]);
      const runs = Array.from(
        { length: itemAt(program.shape, 0) },
        (_, row): RowRun => [(row * columns + first) / width, (row * count) / width, count / width],
      );
      return program.gather(asBits ? { ...source, dtype: arithmeticOf(source.dtype) } : source, width, runs);
    },
  },
  lowRank: {
    sources: ({ a, b }) => [a, b],
    describe: ({ a }, nameOf) => nameOf(a),
    key: ({ rank, transposed, a, b }, identify) =>
      `{${transposed ? 'transposed ' : ''}product of rank ${rank}, ${kinds.stored.key(b, identify)} by ${kinds.stored.key(a, identify)}}`,
    lower: async ({ rank, transposed, a, b }, { program }) => program.product(a, b, { rank, transposed }),
  },
};

/**
 * Returns the stored tensor to which a formula adds an adapter's change, where it is such a sum (`operandOf`): in words
 * and weights it is its model's tensor, like any other.
 */
export const adaptedIn = (formula: Formula<Operand>): StoredTensor | undefined => {
  if (formula.kind !== 'linear' || formula.terms.length !== 2) return undefined;
  const [tensor, change] = formula.terms;
  if (tensor === undefined || change === undefined) return undefined;
  if (tensor.weight !== 1 || !isStored(tensor.source)) return undefined;
  const added = isLowRank(change.source) ? change.source.a : change.source;
  return isStored(added) && added.input === tensor.source.input ? tensor.source : undefined;
};

/** True for a tensor that an input stores, false for one that is computed. */
export const isStored = (operand: Operand): operand is StoredTensor => 'input' in operand;

/** True for rows of a stored tensor in another order. */
export const isGathered = (operand: Operand): operand is GatheredTensor => 'runs' in operand;

/** True for a stored matrix as some columns of a larger one. */
export const isColumns = (operand: Operand): operand is ColumnTensor => 'columns' in operand;

/** True for the product of a LoRA adapter's two matrices. */
export const isLowRank = (operand: Operand): operand is LowRankTensor => 'rank' in operand;

const kindOf = (operand: Operand): OperandKind<Operand> => {
  if (isStored(operand)) return kinds.stored as OperandKind<Operand>;
  if (isColumns(operand)) return kinds.columns as OperandKind<Operand>;
  if (isLowRank(operand)) return kinds.lowRank as OperandKind<Operand>;
  return (isGathered(operand) ? kinds.gathered : kinds.computed) as OperandKind<Operand>;
};

/** Returns the operand converted to a dtype by one rounding, or itself where it has that dtype. */
export const inDtype = (operand: Operand, dtype: Dtype): Operand =>
  operand.dtype === dtype
    ? operand
    : { dtype, expression: { kind: 'linear', terms: [{ source: operand, weight: 1 }] } };

export const sourcesOfOperand = (operand: Operand): readonly StoredTensor[] =>
  kindOf(operand).sources(operand);

/** Returns the byte ranges that a formula reads, in order, with repetitions. */
export const sourcesOf = (formula: Formula<Operand>): readonly StoredTensor[] =>
  operandsOf(formula).flatMap(sourcesOfOperand);

/** The byte ranges that tensors read, in order; those read twice stand twice. */
export const sourcesOfTensors = (
  tensors: readonly { readonly expression: Formula<Operand> }[],
): StoredTensor[] => tensors.flatMap(({ expression }) => sourcesOf(expression));

/** Returns a formula in words: `0.5 math-1 + 0.5 jpn-1`. */
export const describe = (formula: Formula<Operand>, nameOf: Words): string => {
  const adapted = adaptedIn(formula);
  if (adapted !== undefined) return nameOf(adapted);
  return operationOf(formula).describe(
    mapOperands(formula, (operand) => kindOf(operand).describe(operand, nameOf)),
  );
};

/**
 * Returns a formula's text in a shard's key; `identify` names the input file of a byte range by its contents.
 */
export const keyOf = (formula: Formula<Operand>, identify: Words): string => {
  const worded = mapOperands(formula, (operand) => kindOf(operand).key(operand, identify));
  return operationOf(formula).key?.(worded) ?? JSON.stringify(worded);
};

/** Returns the formulas of a formula's computed operands. */
const nestedOf = (formula: Formula<Operand>): readonly Formula<Operand>[] =>
  operandsOf(formula).flatMap((operand) => kindOf(operand).formula?.(operand) ?? []);

/**
 * Returns the matrices of adapters that a formula multiplies or puts together, at any depth: they must be finite, since a
 * product would spread what is not over a whole row or column.
 */
export const factorsIn = (formula: Formula<Operand>): readonly StoredTensor[] => [
  ...nestedOf(formula).flatMap(factorsIn),
  ...(formula.kind === 'concatenate'
    ? sourcesOf(formula)
    : operandsOf(formula).flatMap((operand) => (isLowRank(operand) ? [operand.a, operand.b] : []))),
];

/**
 * True if the program of the formula, or of a nested one, needs whole rows; such tensors are sliced between
 * rows only.
 */
export const needsRows = (formula: Formula<Operand>): boolean =>
  (operationOf(formula).needsRows?.(formula) ?? false) ||
  operandsOf(formula).some(isLowRank) ||
  nestedOf(formula).some(needsRows);

/**
 * True if the output consists of unchanged bytes of stored tensors (moved, selected or put together row by row), so that
 * any dtype will do. Otherwise it is computed from floating-point numbers.
 */
export const keepsBits = (formula: Formula<Operand>): boolean =>
  operationOf(formula).takesBits === true &&
  operandsOf(formula).every((operand) => isStored(operand) || isGathered(operand) || isColumns(operand));

/** A pass over inputs of a tensor that measures one statistic, before the tensor is computed. */
export interface Pass {
  /** The statistic's name in reports: `Gram matrices`. */
  readonly what: string;
  readonly sources: readonly StoredTensor[];
}

/**
 * Returns the passes that a formula needs: one over the factors of adapters, which are checked, then one for each
 * statistic, those of nested formulas first. Finding a
 * magnitude may take a further pass and a sample, which are not listed.
 */
export const passesOf = (formula: Formula<Operand>): readonly Pass[] => [
  ...checksOf(formula),
  ...statisticPassesOf(formula),
];

const checksOf = (formula: Formula<Operand>): readonly Pass[] => {
  const factors = factorsIn(formula);
  return factors.length === 0 ? [] : [{ what: 'finite factors', sources: distinctSources(factors) }];
};

const statisticPassesOf = (formula: Formula<Operand>): readonly Pass[] => [
  ...nestedOf(formula).flatMap(statisticPassesOf),
  ...statisticsOfFormula(formula).map(({ what, operands }) => ({
    what,
    sources: distinctSources(operands.flatMap(sourcesOfOperand)),
  })),
];

/**
 * Appends a formula to a program, after its operands. Operands are appended one at a time, not concurrently,
 * since each may wait for statistics and the order of nodes must not depend on which are measured first.
 * Statistics of a nested formula's result are measured on its values rounded to its dtype, as if it had been
 * written to a file.
 *
 * @returns the value, rounded to `dtype`
 * @throws LayerloomError MERGE_UNDEFINED
 */
export const lower = async (
  formula: Formula<Operand>,
  dtype: ArithmeticDtype,
  to: Lowering,
): Promise<Value> => {
  const operation = operationOf(formula);
  const values: Value[] = [];
  for (const operand of operandsOf(formula)) values.push(await lowerOperand(operand, to, keepsBits(formula)));
  const remaining = values.values();
  return await operation.lower(
    mapOperands(formula, () => remaining.next().value as Value),
    dtype,
    to,
  );
};

/** Appends an operand to a program. */
export const lowerOperand = (operand: Operand, to: Lowering, asBits = false): Promise<Value> =>
  kindOf(operand).lower(operand, to, asBits);

/** Appends an output tensor to a program, computed or moved bit by bit. */
export const lowerTensor = ({ dtype, expression }: ComputedTensor, to: Lowering): Promise<Value> =>
  lower(expression, arithmeticOf(dtype), to);

export { isMove };
