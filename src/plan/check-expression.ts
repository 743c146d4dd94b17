import { refuseRanges } from '../operations/assemble.js';
import { isMove, mapOperands, operandsOf, operationOf } from '../operations/index.js';
import { bitsOf, type Dtype, isFloating } from '../tensor/dtype.js';
import type { Shape } from '../tensor/reference.js';
import type { StoredTensor } from '../tensor/stored-tensor.js';
import { keepsBits } from './operands.js';
import type {
  ColumnTensor,
  GatheredTensor,
  LowRankTensor,
  Operand,
  PlannedExpression,
  PlannedInput,
} from './plan.js';
import {
  asSource,
  columnSchema,
  computedSchema,
  formulaSchema,
  gatheredSchema,
  lowRankSchema,
  parseBy,
  type Refuse,
} from './plan-schema.js';

/** Limits on the nesting and the operands of one expression: an object that contains itself has neither. */
const mostLevels = 64;
const mostOperands = 65_536;

/** The properties of an output tensor that its expression must match. */
export interface Target {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: Shape;
  readonly elements: number;
}

/**
 * Parses a tensor's expression into a copy. Checks that every operand, at any depth, has the tensor's number
 * of elements and a dtype that its formula takes, and that every source lies within its file; otherwise calls
 * `refuse` with the reason.
 *
 * @throws LayerloomError MERGE_UNDEFINED if a formula's rule is not registered in this process
 */
export const parseExpression = (
  value: unknown,
  target: Target,
  inputs: readonly PlannedInput[],
  refuse: Refuse,
): PlannedExpression => parseLevel(value, target.dtype, 0, { target, inputs, refuse, operands: 0 });

interface Context {
  readonly target: Target;
  readonly inputs: readonly PlannedInput[];
  readonly refuse: Refuse;
  /** The number of operands parsed so far. */
  operands: number;
}

/**
 * @param level depth of nesting; only the tensor's own expression, at level 0, may have a dtype without
 *   arithmetic
 */
const parseLevel = (value: unknown, dtype: Dtype, level: number, context: Context): PlannedExpression => {
  const { refuse, target } = context;
  if (level > mostLevels) return refuse(`its expression is nested more than ${mostLevels} deep`);
  const unparsed = parseBy(formulaSchema, value, refuse);
  const parse = isMove(unparsed) ? parseStored : parseOperand;
  // The operands of a factor have the shape of its matrix.
  const own = unparsed.kind === 'factor' ? { ...context, target: ofMatrix(target, unparsed.shape) } : context;
  const formula = mapOperands(unparsed, (operand): Operand => parse(operand, own, level));
  const operation = operationOf(formula);
  const over = operandsOf(formula);
  const other = over.find((operand) => operand.dtype !== dtype);
  if (operation.takesBits && other !== undefined)
    return refuse(`bytes of ${other.dtype} are taken for ${dtype}`);
  if (formula.kind === 'same' && level > 0)
    return refuse('a tensor that must be the same in all inputs cannot be an operand');
  if (formula.kind === 'factor' && level > 0) return refuse('a factor of a matrix cannot be an operand');
  const mayMove = keepsBits(formula) && (level === 0 || formula.kind === 'copy');
  if (!mayMove && ![dtype, ...over.map((operand) => operand.dtype)].every(isFloating))
    return refuse('its formula computes, but not all its dtypes are floating-point');
  const reason = operation.refusal?.(formula, { name: target.name, dtype, shape: target.shape });
  // The cast holds: operands of moves were parsed by parseStored.
  return reason === undefined ? (formula as PlannedExpression) : refuse(reason);
};

const ofMatrix = (target: Target, shape: readonly [number, number]): Target => ({
  ...target,
  shape,
  elements: shape[0] * shape[1],
});

const parseOperand = (value: unknown, context: Context, level: number): Operand => {
  context.operands += 1;
  if (context.operands > mostOperands)
    return context.refuse(`its expression has more than ${mostOperands} operands`);
  const isObject = typeof value === 'object' && value !== null;
  if (isObject && 'input' in value) return parseStored(value, context);
  if (isObject && 'runs' in value) return parseGathered(value, context);
  if (isObject && 'columns' in value) return parseColumns(value, context);
  if (isObject && 'rank' in value) return parseLowRank(value, context);
  const { dtype, expression } = parseBy(computedSchema, value, context.refuse);
  return { dtype, expression: parseLevel(expression, dtype, level + 1, context) };
};

/** Rows of the target's width: as many as it has, each of a row of the source or of none. */
const parseGathered = (value: unknown, context: Context): GatheredTensor => {
  const { target, refuse } = context;
  const { dtype, rows, runs, source: given } = parseBy(gatheredSchema, value, context.refuse);
  if (target.elements === 0 || rows !== target.shape[0])
    return refuse('its rows in another order are not as many as it has');
  const width = target.elements / rows;
  const source = parseSource(given, context);
  if (source.dtype !== dtype || bitsOf(dtype) % 8 !== 0)
    return refuse(`rows of ${source.dtype} are taken for ${dtype}`);
  const stored = ((source.end - source.begin) * 8) / (width * bitsOf(dtype));
  const reason = refuseRanges(runs, rows);
  if (reason !== undefined) return refuse(reason);
  if (!(Number.isInteger(stored) && stored >= 0) || !runs.every(([, from, count]) => from + count <= stored))
    return refuse('its rows in another order lie outside their source');
  return { dtype, rows, runs, source };
};

/** Columns of the target: a source of as many rows and of their number. */
const parseColumns = (value: unknown, context: Context): ColumnTensor => {
  const { target, refuse } = context;
  const { source: given, ...operand } = parseBy(columnSchema, value, context.refuse);
  const { dtype, columns, first, count } = operand;
  const [rows, wide] = target.shape;
  if (target.shape.length !== 2 || wide !== columns || first + count > columns)
    return refuse('its columns are not among those that it has');
  const source = parseSource(given, context);
  if (source.dtype !== dtype || bitsOf(dtype) % 8 !== 0)
    return refuse(`columns of ${source.dtype} are taken for ${dtype}`);
  if ((source.end - source.begin) * 8 !== Number(rows) * count * bitsOf(dtype))
    return refuse('its columns have another length than their source');
  return { ...operand, source };
};

/** Two matrices whose product is of the target's shape. */
const parseLowRank = (value: unknown, context: Context): LowRankTensor => {
  const { target, refuse } = context;
  const { a, b, ...product } = parseBy(lowRankSchema, value, refuse);
  const [rows, columns, more] = target.shape;
  if (rows === undefined || columns === undefined || more !== undefined)
    return refuse('a product of two matrices is taken for a tensor that is none');
  const [inputs, outputs] = product.transposed ? [rows, columns] : [columns, rows];
  const parseFactor = (factor: unknown, width: number): StoredTensor => {
    const source = parseSource(factor, context);
    if (!isFloating(source.dtype))
      return refuse(`a product is of ${source.dtype}, which is no floating-point dtype`);
    if ((source.end - source.begin) * 8 !== product.rank * width * bitsOf(source.dtype))
      return refuse(`a factor of rank ${product.rank} has another length than ${width} times that`);
    return source;
  };
  return { ...product, a: parseFactor(a, inputs), b: parseFactor(b, outputs) };
};

const parseStored = (value: unknown, context: Context): StoredTensor => {
  const { target, refuse } = context;
  const source = parseSource(value, context);
  const { begin, end, dtype } = source;
  if ((end - begin) * 8 !== target.elements * bitsOf(dtype))
    return refuse(`a source has another length than ${target.elements} elements of ${dtype}`);
  return source;
};

const parseSource = (value: unknown, { inputs, refuse }: Context): StoredTensor => {
  const source = asSource(value);
  if (source === undefined) return refuse('a source is not a range of a file in a known dtype');
  const { input, file, end } = source;
  const identity = inputs[input]?.files[file];
  if (identity === undefined) return refuse(`there is no file ${file} of input ${input}`);
  if (end > identity.bytes) return refuse('a source lies outside its file');
  return source;
};
