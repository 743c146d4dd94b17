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
import { type ArithmeticDtype, arithmeticOf } from '../tensor/dtype.js';
import { distinctSources, type StoredTensor } from '../tensor/stored-tensor.js';
import type { ComputedTensor, Operand } from './plan.js';

/** An operand in words, for people or for keys, from the words for stored tensors. */
type Words = (stored: StoredTensor) => string;

/**
 * Every fact about one kind of operand. Programs see float32 tiles of the output's shape, whatever an operand is made of: an operand
 * whose own shape or slicing differs (a low-rank product, a transposed or a dequantised tensor) is one more kind, which says its byte
 * ranges here and appends nodes that make its tiles.
 */
interface OperandKind<O> {
  /** The byte ranges it is made of, in order. */
  sources(operand: O): readonly StoredTensor[];
  /** The formula it is the result of, for kinds that have one. */
  formula?(operand: O): Formula<Operand>;
  /** For people. */
  describe(operand: O, nameOf: Words): string;
  /** For a shard's key. A change makes every store compute such shards anew. */
  key(operand: O, identify: Words): string;
  /** Appends the operand to a program. With `asBits` its elements are moved, and may be of a dtype that no kernel computes in. */
  lower(operand: O, to: Lowering, asBits: boolean): Promise<Value>;
}

interface OperandsByKind {
  stored: StoredTensor;
  computed: ComputedTensor;
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
    lower: ({ dtype, expression }, to) => lower(expression, dtype as ArithmeticDtype, to),
  },
};

/** True for a tensor as an input stores it. */
export const isStored = (operand: Operand): operand is StoredTensor => 'input' in operand;

const kindOf = (operand: Operand): OperandKind<Operand> =>
  (isStored(operand) ? kinds.stored : kinds.computed) as OperandKind<Operand>;

export const sourcesOfOperand = (operand: Operand): readonly StoredTensor[] =>
  kindOf(operand).sources(operand);

/** The byte ranges that a formula reads, in order; those that it reads twice stand twice. */
export const sourcesOf = (formula: Formula<Operand>): readonly StoredTensor[] =>
  operandsOf(formula).flatMap(sourcesOfOperand);

/** A formula in words: `0.5 math-1 + 0.5 jpn-1`. */
export const describe = (formula: Formula<Operand>, nameOf: Words): string =>
  operationOf(formula).describe(mapOperands(formula, (operand) => kindOf(operand).describe(operand, nameOf)));

/** A formula as it stands in a shard's key, over identified inputs. */
export const keyOf = (formula: Formula<Operand>, identify: Words): string => {
  const worded = mapOperands(formula, (operand) => kindOf(operand).key(operand, identify));
  return operationOf(formula).key?.(worded) ?? JSON.stringify(worded);
};

/** The formulas that operands are results of. */
const nestedOf = (formula: Formula<Operand>): readonly Formula<Operand>[] =>
  operandsOf(formula).flatMap((operand) => kindOf(operand).formula?.(operand) ?? []);

/** True if a program of the formula, or of one in it, needs whole rows: slices then do not cut them. */
export const needsRows = (formula: Formula<Operand>): boolean =>
  (operationOf(formula).needsRows?.(formula) ?? false) || nestedOf(formula).some(needsRows);

/**
 * True if the output is bytes of inputs as they stand, whatever their dtype: moved, or chosen row by row. Otherwise it is computed, from
 * floating numbers.
 */
export const keepsBits = (formula: Formula<Operand>): boolean =>
  operationOf(formula).takesBits === true && operandsOf(formula).every(isStored);

/** A reading of a tensor's inputs before the tensor is computed, for one statistic of whole tensors. */
export interface Pass {
  /** For people: `Gram matrices`. */
  readonly what: string;
  readonly sources: readonly StoredTensor[];
}

/**
 * The passes that a formula takes, those of nested ones first. One for each statistic: finding a magnitude may take another, or a sample
 * first.
 */
export const passesOf = (formula: Formula<Operand>): readonly Pass[] => [
  ...nestedOf(formula).flatMap(passesOf),
  ...statisticsOfFormula(formula).map(({ what, operands }) => ({
    what,
    sources: distinctSources(operands.flatMap(sourcesOfOperand)),
  })),
];

/**
 * Appends a formula to a program, operands first, one after the other: each may measure, and a program has one order. Statistics are
 * measured of values as they would be written, and so of nested recipes too.
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

/** Appends a whole tensor to a program: as it is computed, or as it is moved. */
export const lowerTensor = ({ dtype, expression }: ComputedTensor, to: Lowering): Promise<Value> =>
  lower(expression, arithmeticOf(dtype), to);

export { isMove };
