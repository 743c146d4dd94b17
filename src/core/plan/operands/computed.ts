import * as z from 'zod';
import type { ArithmeticDtype, Dtype } from '../../tensor/dtype.js';
import { operandKind } from '../../tensor/stored-tensor.js';
import { dtype, parseBy } from '../parse.js';
import type { ComputedTensor, PlannedExpression } from '../plan.js';
import type { FormulaReadings, OperandKind } from './kind.js';

export const computedTensor = (dtype: Dtype, expression: PlannedExpression): ComputedTensor => ({
  [operandKind]: 'computed',
  dtype,
  expression,
});

const schema = z.strictObject({ dtype, expression: z.unknown() });

export const computed = (
  formulas: FormulaReadings<PlannedExpression>,
): OperandKind<ComputedTensor, PlannedExpression> => ({
  key: 'expression',
  parse: (value, context) => {
    const { dtype, expression } = parseBy(schema, value, context.refuse);
    return computedTensor(dtype, context.nested(expression, dtype));
  },
  sources: ({ expression }) => formulas.sourcesOf(expression),
  describe: ({ expression }, nameOf) => {
    const inner = formulas.describe(expression, nameOf);
    return inner.includes(' ') ? `(${inner})` : inner;
  },
  keyText: ({ dtype, expression }, identify) => `(${dtype} ${formulas.keyOf(expression, identify)})`,
  lower: async ({ dtype, expression }, to) => {
    const value = await formulas.lower(expression, dtype as ArithmeticDtype, to);
    to.program.markResult(value);
    return value;
  },
  formula: ({ expression }) => expression,
  move: ({ expression }) => expression,
});
