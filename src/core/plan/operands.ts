import type { Formula } from '../methods/operations/formula.js';
import {
  isMove,
  mapOperands,
  operandsOf,
  operationOf,
  statisticsOf as statisticsOfFormula,
} from '../methods/operations/index.js';
import type { Lowering } from '../methods/operations/program/lowering.js';
import type { Value } from '../methods/operations/program/program.js';
import { type ArithmeticDtype, arithmeticOf, type Dtype } from '../tensor/dtype.js';
import { distinctSources, operandKind, type StoredTensor } from '../tensor/stored-tensor.js';
import { averaged } from './operands/averaged.js';
import { blocks } from './operands/blocks.js';
import { columns } from './operands/columns.js';
import { computed, computedTensor } from './operands/computed.js';
import { dora } from './operands/dora.js';
import { factored } from './operands/factored.js';
import { gathered } from './operands/gathered.js';
import type { OperandKind, ParseContext, Pass, Weights, Words } from './operands/kind.js';
import { lowRank } from './operands/low-rank.js';
import { multiplied } from './operands/multiplied.js';
import { pieces } from './operands/pieces.js';
import { pursued } from './operands/pursued.js';
import { type QuantisedTensor, quantised } from './operands/quantised.js';
import { stored } from './operands/stored.js';
import type { ComputedTensor, Operand, PlannedExpression } from './plan.js';

type KindName = Operand[typeof operandKind];

const kinds: {
  readonly [Name in KindName]: () => OperandKind<
    Extract<Operand, { readonly [operandKind]: Name }>,
    PlannedExpression
  >;
} = {
  stored: () => stored,
  gathered: () => gathered,
  columns: () => columns,
  lowRank: () => lowRank,
  dora: () => dora,
  factored: () => factored,
  multiplied: () => multiplied,
  pursued: () => pursued,
  averaged: () => averaged,
  quantised: () => quantised,
  blocks: () => blocks,
  pieces: () => pieces,
  computed: () => ofComputed,
};

// A safe cast: `kinds` holds each kind under its tag.
const kindOf = (operand: Operand): OperandKind<Operand, PlannedExpression> =>
  kinds[operand[operandKind]]() as OperandKind<Operand, PlannedExpression>;

/** Parses an operand. Each kind has a key in JSON that no other kind has. */
export const parseOperand = (value: unknown, context: ParseContext<PlannedExpression>): Operand => {
  const kind =
    typeof value === 'object' && value !== null
      ? Object.values(kinds).find((kind) => kind().key in value)
      : undefined;
  return (kind ?? kinds.computed)().parse(value, context);
};

/** Returns the tensor that a formula changes by an adapter, for descriptions and weights. */
export const adaptedIn = (formula: Formula<Operand>): StoredTensor | undefined => {
  if (formula.kind !== 'linear' || formula.terms.length > 2) return undefined;
  const [tensor, change] = formula.terms;
  if (tensor?.weight !== 1) return undefined;
  const { source } = tensor;
  if (change === undefined) return isStored(source) ? undefined : kindOf(source).tensor?.(source);
  const base = isComputed(source) ? undefined : kindOf(source).tensor?.(source);
  const kind = kindOf(change.source);
  const [added] = kind.factors?.(change.source) ?? [kind.tensor?.(change.source)];
  return added?.input === base?.input ? base : undefined;
};

export const parseStored = (value: unknown, context: ParseContext<PlannedExpression>): StoredTensor =>
  kinds.stored().parse(value, context);

export const isStored = (operand: Operand): operand is StoredTensor => operand[operandKind] === 'stored';

const isComputed = (operand: Operand): boolean => operand[operandKind] === 'computed';

export const quantisedIn = (formula: Formula<Operand>): readonly QuantisedTensor[] => [
  ...nestedOf(formula).flatMap(quantisedIn),
  ...operandsOf(formula).flatMap((operand) => (operand[operandKind] === 'quantised' ? [operand] : [])),
];

export const quantisedCopy = (formula: Formula<Operand>): QuantisedTensor | undefined => {
  if (formula.kind !== 'linear' || formula.terms.length !== 1) return undefined;
  const [{ source, weight }] = formula.terms as [(typeof formula.terms)[number]];
  return weight === 1 && source[operandKind] === 'quantised' ? source : undefined;
};

/** Returns the stored tensor, or the tensor that an adapter changes. */
export const tensorOf = (operand: Operand): StoredTensor | undefined => {
  const formula = formulaOf(operand);
  return formula === undefined ? kindOf(operand).tensor?.(operand) : adaptedIn(formula);
};

/** Returns a matrix product's rank; undefined for other operands. */
export const rankOf = (operand: Operand): number | undefined => kindOf(operand).rank?.(operand);

export const formulaOf = (operand: Operand): PlannedExpression | undefined =>
  kindOf(operand).formula?.(operand);

/** Returns an operand's weights by input; empty for a formula. */
export const weightsOf = (operand: Operand): Weights => kindOf(operand).weights?.(operand) ?? new Map();

const asSum = (operand: Operand): PlannedExpression => ({
  kind: 'linear',
  terms: [{ source: operand, weight: 1 }],
});

/** Returns a byte copy if dtypes agree, otherwise a conversion. */
export const expressionOf = (operand: Operand, dtype: Dtype): PlannedExpression =>
  (operand.dtype === dtype ? kindOf(operand).move?.(operand) : undefined) ?? asSum(operand);

/** Converts an operand, rounding once if dtypes differ. */
export const inDtype = (operand: Operand, dtype: Dtype): Operand =>
  operand.dtype === dtype ? operand : computedTensor(dtype, asSum(operand));

export const sourcesOfOperand = (operand: Operand): readonly StoredTensor[] =>
  kindOf(operand).sources(operand);

/** Returns byte ranges in order, with repetitions. */
export const sourcesOf = (formula: Formula<Operand>): readonly StoredTensor[] =>
  operandsOf(formula).flatMap(sourcesOfOperand);

/**
 * Returns the byte ranges to read for an output. Quantised codes read their source, but not the base, which
 * is only measured. Scales read nothing, because the pass that makes codes makes them too.
 */
export const sourcesRead = (formula: Formula<Operand>): readonly StoredTensor[] => {
  if (formula.kind !== 'quantise') return sourcesOf(formula);
  return formula.part === 'scales' ? [] : sourcesOfOperand(formula.source);
};

export const sourcesOfTensors = (
  tensors: readonly { readonly expression: Formula<Operand> }[],
): StoredTensor[] => tensors.flatMap(({ expression }) => sourcesOf(expression));

/** Describes a formula, such as `0.5 math-1 + 0.5 jpn-1`. */
export const describe = (formula: Formula<Operand>, nameOf: Words): string => {
  const adapted = adaptedIn(formula);
  if (adapted !== undefined) return nameOf(adapted);
  return operationOf(formula).describe(
    mapOperands(formula, (operand) => kindOf(operand).describe(operand, nameOf)),
  );
};

/** Returns the text of a formula in shard keys. `identify` names files by content. */
export const keyOf = (formula: Formula<Operand>, identify: Words): string => {
  const worded = mapOperands(formula, (operand) => kindOf(operand).keyText(operand, identify));
  return operationOf(formula).key?.(worded) ?? JSON.stringify(worded);
};

const nestedOf = (formula: Formula<Operand>): readonly Formula<Operand>[] =>
  operandsOf(formula).flatMap((operand) => formulaOf(operand) ?? []);

/** Returns adapters' factors at any depth. They must be finite: products would spread NaN and infinity. */
export const factorsIn = (formula: Formula<Operand>): readonly StoredTensor[] => [
  ...nestedOf(formula).flatMap(factorsIn),
  ...(formula.kind === 'concatenate'
    ? sourcesOf(formula)
    : operandsOf(formula).flatMap((operand) => kindOf(operand).factors?.(operand) ?? [])),
];

/** Returns the number of adjacent rows that a slice must not separate; 0 if slices may begin anywhere. */
export const rowsTogether = (formula: Formula<Operand>): number =>
  Math.max(
    operationOf(formula).rowsTogether?.(formula) ?? 0,
    operandsOf(formula).some((operand) => kindOf(operand).needsRows) ? 1 : 0,
    ...nestedOf(formula).map(rowsTogether),
  );

/** True if a formula only moves bits, of any dtype; false if it computes numbers. */
export const keepsBits = (formula: Formula<Operand>): boolean =>
  operationOf(formula).takesBits === true &&
  operandsOf(formula).every((operand) => kindOf(operand).keepsBits);

export const movesRows = (formula: Formula<Operand>): boolean =>
  formula.kind === 'assemble' ||
  operandsOf(formula).some((operand) => kindOf(operand).movesRows) ||
  nestedOf(formula).some(movesRows);

/** Returns the passes before computation: a check of factors, then one per statistic. */
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
  ...operandsOf(formula).flatMap((operand) => kindOf(operand).statistics?.(operand) ?? []),
  ...statisticsOfFormula(formula).map(({ what, operands }) => ({
    what,
    sources: distinctSources(operands.flatMap(sourcesOfOperand)),
  })),
];

/**
 * Compiles a formula to nodes of a program. Operands come first, one by one: each may wait for statistics,
 * and timing must not change the order of nodes. A nested result is rounded to its dtype before its
 * statistics are measured, as if it had been written to a file.
 *
 * @returns the value, rounded to `dtype`
 * @throws MERGE_UNDEFINED
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

export const lowerOperand = (operand: Operand, to: Lowering, asBits = false): Promise<Value> =>
  kindOf(operand).lower(operand, to, asBits);

export const lowerTensor = (
  { dtype, expression }: Pick<ComputedTensor, 'dtype' | 'expression'>,
  to: Lowering,
): Promise<Value> => lower(expression, arithmeticOf(dtype), to);

export { isMove };

const ofComputed = computed({ sourcesOf, describe, keyOf, lower });
