import {
  isMove,
  isPart,
  isWhole,
  mapOperands,
  operandShapes,
  operandsOf,
  operationOf,
} from '../../methods/operations/index.js';
import { type Dtype, isFloating } from '../../tensor/dtype.js';
import { elementCount, type Shape } from '../../tensor/reference.js';
import type { ParseContext, Target } from '../operands/kind.js';
import { keepsBits, parseOperand, parseStored } from '../operands.js';
import { parseBy, type Refuse } from '../parse.js';
import type { Operand, PlannedExpression, PlannedInput } from '../plan.js';
import { formulaSchema } from './plan-schema.js';

/** Limits of an expression; they also stop cyclic objects. */
const mostLevels = 64;
const mostOperands = 65_536;

/**
 * Parses a copy of an expression. Calls `refuse` unless every operand has the right number of elements, an
 * allowed dtype, and lies within its file.
 *
 * @throws MERGE_UNDEFINED if a formula's rule is not registered in this process
 */
export const parseExpression = (
  value: unknown,
  target: Target,
  inputs: readonly PlannedInput[],
  refuse: Refuse,
): PlannedExpression =>
  parseLevel(value, target.dtype, 0, { target, inputs, refuse, count: { operands: 0 } });

interface Context {
  readonly target: Target;
  readonly inputs: readonly PlannedInput[];
  readonly refuse: Refuse;
  readonly count: { operands: number };
}

/** @param level depth of nesting; only level 0 allows dtypes without arithmetic */
const parseLevel = (value: unknown, dtype: Dtype, level: number, context: Context): PlannedExpression => {
  const { refuse, target } = context;
  if (level > mostLevels) return refuse(`its expression is nested more than ${mostLevels} deep`);
  const { kind } = Object(value);
  const unparsed = parseBy(formulaSchema(kind), value, refuse);
  const shapes = operandShapes(unparsed, target.shape).values();
  const contextOf = (shape: Shape): ParseContext<PlannedExpression> => {
    const elements = elementCount(shape);
    if (elements === undefined)
      return refuse(`no tensor has the shape [${shape.join(', ')}], which its operands have`);
    const shaped = { ...target, shape, elements };
    return {
      target: shaped,
      inputs: context.inputs,
      refuse,
      nested: (expression, of) => parseLevel(expression, of, level + 1, { ...context, target: shaped }),
    };
  };
  const parse = (operand: unknown): Operand => {
    context.count.operands += 1;
    if (context.count.operands > mostOperands)
      return refuse(`its expression has more than ${mostOperands} operands`);
    return parseOperand(operand, contextOf(shapes.next().value ?? target.shape));
  };
  const formula = mapOperands(
    unparsed,
    isMove(unparsed) ? (source) => parseStored(source, contextOf(target.shape)) : parse,
  );
  const operation = operationOf(formula);
  const over = operandsOf(formula);
  const other = over.find((operand) => operand.dtype !== dtype);
  if (operation.takesBits && other !== undefined)
    return refuse(`bytes of ${other.dtype} are taken for ${dtype}`);
  if (formula.kind === 'same' && level > 0)
    return refuse('a tensor that must be the same in all inputs cannot be an operand');
  if (isPart(formula) && level > 0) return refuse('a part of a matrix cannot be an operand');
  if (isWhole(formula) && level > 0) return refuse('the result of a separate job cannot be an operand');
  const mayMove = keepsBits(formula) && (level === 0 || formula.kind === 'copy');
  const computed = [...(formula.kind === 'quantise' ? [] : [dtype]), ...over.map((operand) => operand.dtype)];
  if (!mayMove && !computed.every(isFloating))
    return refuse('its formula computes, but not all its dtypes are floating-point');
  const reason = operation.refusal?.(formula, { name: target.name, dtype, shape: target.shape });
  // A safe cast, because `copy` and `same` parse stored operands only.
  return reason === undefined ? (formula as PlannedExpression) : refuse(reason);
};
