import { LayerloomError } from '../errors.js';
import type { Expression, ModelTensor } from '../operations/expression.js';
import { mapOperands, operandsOf } from '../operations/expression.js';
import { type ArithmeticDtype, type Dtype, isFloating } from '../tensor/dtype.js';
import type { Shape } from '../tensor/reference.js';
import type { OpenedModel } from './models.js';
import { isSource, type Operand, type PlannedExpression, sourcesOfOperand } from './plan.js';
import { quantisedTensors } from './quantised.js';

/** A tensor's expression over byte ranges, and the dtype its output has. */
export interface BoundTensor {
  readonly dtype: Dtype;
  readonly expression: PlannedExpression;
}

/** An output tensor to bind: its name, and the tensor whose shape and dtype it has. */
export interface TensorToBind {
  readonly name: string;
  readonly like: { readonly model: number; readonly tensor: string };
}

/**
 * Turns a method's expressions, which speak of models, into expressions over byte ranges, which the engine carries out. Here
 * dtypes are settled: without `dtype` the output has the first model's; with it every floating tensor is converted, copied
 * ones too. Integers that would be averaged must be equal; quantised weights and their scales are only ever copied.
 *
 * @param models the merged models
 * @returns a function of an output tensor and its expression, which throws LayerloomError QUANTISED_WEIGHTS, SHAPE_MISMATCH, DTYPE_MISMATCH
 */
export const binder = (models: readonly OpenedModel[], dtype: ArithmeticDtype | undefined) => {
  const quantised = models.map(({ checkpoint }) => quantisedTensors(checkpoint.tensors.keys()));

  const referenceOf = ({ model, tensor }: { model: number; tensor: string }) => {
    const reference = models[model]?.checkpoint.tensors.get(tensor);
    if (reference === undefined)
      throw new Error(`model ${model} has no tensor ${tensor}, though it was found compatible`);
    return reference;
  };

  const operandOf = (model: number, tensor: string): Operand => {
    const operand = models[model]?.operandOf(tensor);
    if (operand === undefined) throw new Error(`model ${model} has no tensor ${tensor}`);
    return operand;
  };

  const dtypeOf = ({ like }: TensorToBind): Dtype => {
    const stored = referenceOf(like).dtype;
    return dtype !== undefined && isFloating(stored) && !quantised[like.model]?.has(like.tensor)
      ? dtype
      : stored;
  };

  const checkShape = (name: string, shape: Shape, model: number, tensor: string, like: number): void => {
    const other = referenceOf({ model, tensor }).shape;
    if (other.join() === shape.join()) return;
    throw new LayerloomError('SHAPE_MISMATCH', {
      first: models[like]?.checkpoint.path ?? '',
      other: models[model]?.checkpoint.path ?? '',
      tensors: [`${tensor} [${other.join(', ')}] against [${shape.join(', ')}] of ${name}`],
    });
  };

  /** Rows are taken as they stand: both models' bytes must mean the same. */
  const checkRows = (
    wanted: TensorToBind,
    output: Dtype,
    { source, base }: Extract<Expression, { kind: 'rowSelect' }>,
  ) => {
    const [one, other] = [source, base].map(
      ({ model, tensor = wanted.name }) => referenceOf({ model, tensor }).dtype,
    );
    if (output !== one)
      throw new LayerloomError('INVALID_PARAMETER', {
        parameter: 'dtype',
        value: dtype,
        expected:
          'none where rows are reverted, whose bits are taken as they are; convert the result with relayout',
      });
    if (one !== other)
      throw new LayerloomError('DTYPE_MISMATCH', {
        first: models[source.model]?.checkpoint.path ?? '',
        other: models[base.model]?.checkpoint.path ?? '',
        tensors: [`${wanted.name} ${other} against ${one}`],
      });
  };

  const bindCopy = (operand: Operand, output: Dtype): PlannedExpression => {
    if (operand.dtype !== output) return { kind: 'linear', terms: [{ source: operand, weight: 1 }] };
    return isSource(operand) ? { kind: 'copy', source: operand } : operand.expression;
  };

  return (wanted: TensorToBind, expression: Expression): BoundTensor => {
    const output = dtypeOf(wanted);
    const over: readonly ModelTensor[] =
      expression.kind === 'copy' ? [expression.source] : operandsOf(expression);
    const { shape } = referenceOf(wanted.like);
    for (const { model, tensor = wanted.name } of over)
      checkShape(wanted.name, shape, model, tensor, wanted.like.model);
    const bind = ({ model, tensor = wanted.name }: ModelTensor): Operand => operandOf(model, tensor);

    const only = soleCopy(expression);
    if (only !== undefined) {
      const operand = bind(only);
      if (operand.dtype === output) return { dtype: output, expression: bindCopy(operand, output) };
    }
    if (expression.kind === 'rowSelect') checkRows(wanted, output, expression);
    else
      for (const { model, tensor = wanted.name } of over)
        if (quantised[model]?.has(tensor))
          throw new LayerloomError('QUANTISED_WEIGHTS', {
            model: models[model]?.checkpoint.path ?? '',
            tensor,
          });
    // Models that differ in dtype were found to be floating both.
    if (!isFloating(output) && expression.kind !== 'rowSelect')
      return {
        dtype: output,
        expression: { kind: 'same', sources: over.flatMap((of) => sourcesOfOperand(bind(of))) },
      };
    if (expression.kind === 'copy')
      return { dtype: output, expression: bindCopy(bind(expression.source), output) };
    return { dtype: output, expression: mapOperands(expression, bind) };
  };
};

/** The one tensor that an expression is, where it is one. */
const soleCopy = (expression: Expression): ModelTensor | undefined => {
  if (expression.kind === 'copy') return expression.source;
  if (expression.kind !== 'linear') return undefined;
  const [term, more] = expression.terms;
  return more === undefined && term?.weight === 1 ? term.source : undefined;
};
