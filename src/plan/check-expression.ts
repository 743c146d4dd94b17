import { type Formula, mapOperands, mostTaskVectors, operandsOf } from '../operations/expression.js';
import { ruleNamed } from '../operations/rules.js';
import { bitsOf, type Dtype, isFloating } from '../tensor/dtype.js';
import { isKept } from '../tensor/kept.js';
import type { Shape } from '../tensor/reference.js';
import {
  movesBytes,
  type Operand,
  type PlannedExpression,
  type PlannedInput,
  type StoredTensor,
} from './plan.js';
import { asSource, computedSchema, expressionSchema, parseBy, type Refuse } from './plan-schema.js';

/** Recipes in recipes, and operands of one tensor, at most: a structure that holds itself has no end. */
const mostLevels = 64;
const mostOperands = 65_536;

/** An output tensor, as far as its expression depends on it. */
export interface Target {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: Shape;
  readonly elements: number;
}

/**
 * Parses a tensor's expression. The result is plain, and computes what the tensor is said to be: every operand, at any depth, has the
 * tensor's elements, in a dtype that its formula takes, and every source lies in its file.
 *
 * @throws LayerloomError MERGE_UNDEFINED where a formula's rule is not registered in this process
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
  /** Met so far. */
  operands: number;
}

/** @param level 0 for the tensor's own expression, which alone may move bytes that no kernel computes in */
const parseLevel = (value: unknown, dtype: Dtype, level: number, context: Context): PlannedExpression => {
  const { refuse } = context;
  if (level > mostLevels) return refuse(`its expression is nested more than ${mostLevels} deep`);
  const expression = parseBy(expressionSchema, value, refuse);
  if (expression.kind === 'copy')
    return { kind: 'copy', source: parseMoved(expression.source, dtype, context) };
  if (expression.kind === 'same') {
    if (level > 0) return refuse('what must be the same is not computed with');
    return { kind: 'same', sources: expression.sources.map((source) => parseMoved(source, dtype, context)) };
  }
  const formula = mapOperands(expression, (operand) => parseOperand(operand, level, context));
  const over = operandsOf(formula);
  if (
    !(level === 0 && movesBytes(formula)) &&
    !(isFloating(dtype) && over.every((operand) => isFloating(operand.dtype)))
  )
    return refuse('it computes with what are no floating numbers');
  checkFormula(formula, over, dtype, context);
  return formula;
};

const parseOperand = (value: unknown, level: number, context: Context): Operand => {
  context.operands += 1;
  if (context.operands > mostOperands)
    return context.refuse(`its expression has more than ${mostOperands} operands`);
  if (typeof value === 'object' && value !== null && 'input' in value) return parseSource(value, context);
  const { dtype, expression } = parseBy(computedSchema, value, context.refuse);
  return { dtype, expression: parseLevel(expression, dtype, level + 1, context) };
};

const parseSource = (value: unknown, { target, inputs, refuse }: Context): StoredTensor => {
  const source = asSource(value);
  if (source === undefined) return refuse('a source is not a range of a file, in a known dtype');
  const { input, file, begin, end, dtype } = source;
  const identity = inputs[input]?.files[file];
  if (identity === undefined) return refuse(`there is no file ${file} of input ${input}`);
  if (end > identity.bytes) return refuse('a source lies outside its file');
  if ((end - begin) * 8 !== target.elements * bitsOf(dtype)) return refuse('a source has another length');
  return source;
};

/** A source whose bytes are taken as they stand. */
const parseMoved = (value: unknown, dtype: Dtype, context: Context): StoredTensor => {
  const source = parseSource(value, context);
  return source.dtype === dtype ? source : context.refuse(`bytes of ${source.dtype} are taken for ${dtype}`);
};

const checkFormula = (
  formula: Formula<Operand>,
  over: readonly Operand[],
  dtype: Dtype,
  { target: { name, shape }, refuse }: Context,
): void => {
  switch (formula.kind) {
    case 'rowSelect': {
      const rows = shape.length === 2 ? shape[formula.rows === 'input' ? 1 : 0] : undefined;
      if (rows === undefined || !isKept(formula.kept, rows))
        refuse('its kept rows are not those of its shape');
      // Rows are moved by whole bytes.
      if (over.some((operand) => operand.dtype !== dtype) || bitsOf(dtype) % 8 !== 0)
        refuse(`its rows are not ${dtype}`);
      break;
    }
    case 'gram': {
      const { rule, sources, parameters } = formula;
      if (!ruleNamed(rule, name).accepts(parameters, sources.length))
        refuse(`its parameters are not those of rule ${rule}`);
      break;
    }
    case 'consensus':
    case 'sce':
      if (over.length - 1 > mostTaskVectors) refuse(`it combines more than ${mostTaskVectors} task vectors`);
  }
};
