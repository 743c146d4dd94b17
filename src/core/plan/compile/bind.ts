import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import type { Expression, ModelTensor } from '../../methods/operations/expression.js';
import type { Computation } from '../../methods/operations/formula.js';
import { mapOperands, operandShapes, operandsOf, operationOf } from '../../methods/operations/index.js';
import { refusePieces } from '../../models/checkpoint/pieces.js';
import { type ArithmeticDtype, type Dtype, isFloating } from '../../tensor/dtype.js';
import type { Shape } from '../../tensor/reference.js';
import type { StoredTensor } from '../../tensor/stored-tensor.js';
import { expressionOf, inDtype, sourcesOfOperand } from '../operands.js';
import type { Operand, PlannedExpression } from '../plan.js';
import { isNoModel, type OpenedModel } from './inputs/models.js';
import { quantisedTensors } from './quantised.js';

export interface BoundTensor {
  readonly dtype: Dtype;
  readonly expression: PlannedExpression;
}

/**
 * A tensor to bind. Shape and dtype are those of `like`, unless `shape` or the recipe's dtype replaces them.
 */
export interface TensorToBind {
  readonly name: string;
  readonly like: { readonly model: number; readonly tensor: string };
  readonly shape?: Shape;
}

/**
 * Returns a function that binds expressions over models' tensors to byte ranges.
 *
 * - The output has the dtype of `like`; if `dtype` is given, all floating-point tensors get it, including
 * copies. Operands of bit operations are first converted to the output's dtype.
 * - Integer tensors that a formula would average must be equal (`same`).
 * - Quantised weights and their scales may only be copied, unconverted.
 *
 * The function throws LayerloomError QUANTISED_WEIGHTS, SHAPE_MISMATCH, DTYPE_MISMATCH (bit operations on
 * integer dtypes).
 *
 * @param models that expressions refer to by index
 */
export const binder = (models: readonly OpenedModel[], dtype: ArithmeticDtype | undefined) => {
  const quantised = models.map(({ checkpoint }) => quantisedTensors(checkpoint));

  const modelAt = (model: number): OpenedModel => itemAt(models, model);

  const referenceOf = ({ model, tensor }: { model: number; tensor: string }) => {
    const reference = modelAt(model).checkpoint.tensors.get(tensor);
    if (reference === undefined)
      throw new Error(`model ${model} has no tensor ${tensor}, though it was found compatible`);
    return reference;
  };

  const operandOf = (model: number, tensor: string): Operand => {
    const operand = modelAt(model).operandOf(tensor);
    if (operand === undefined) throw new Error(`model ${model} has no tensor ${tensor}`);
    return operand;
  };

  const dtypeOf = ({ like }: TensorToBind): Dtype => {
    const stored = referenceOf(like).dtype;
    return dtype !== undefined && isFloating(stored) && !itemAt(quantised, like.model).has(like.tensor)
      ? dtype
      : stored;
  };

  const checkQuantised = ({ name, like }: TensorToBind, over: readonly ModelTensor[]): void => {
    for (const { model, tensor = name } of [...over, like])
      if (itemAt(quantised, model).has(tensor))
        throw new LayerloomError('QUANTISED_WEIGHTS', { model: modelAt(model).checkpoint.path, tensor });
  };

  const checkShape = (name: string, shape: Shape, model: number, tensor: string, like: number): void => {
    const other = referenceOf({ model, tensor }).shape;
    if (other.join() === shape.join()) return;
    throw new LayerloomError('SHAPE_MISMATCH', {
      first: modelAt(like).checkpoint.path,
      other: modelAt(model).checkpoint.path,
      tensors: [`${tensor} [${other.join(', ')}] against [${shape.join(', ')}] of ${name}`],
      ...(isNoModel(modelAt(model))
        ? { remedy: 'Make the file again, of the model that it stands beside' }
        : {}),
    });
  };

  const checkBits = (wanted: TensorToBind, output: Dtype, over: readonly ModelTensor[]) => {
    for (const { model, tensor = wanted.name } of over) {
      const { dtype: found } = referenceOf({ model, tensor });
      if (found === output) continue;
      checkQuantised(wanted, over);
      if (!isFloating(found) || !isFloating(output))
        throw new LayerloomError('DTYPE_MISMATCH', {
          first: modelAt(wanted.like.model).checkpoint.path,
          other: modelAt(model).checkpoint.path,
          tensors: [`${wanted.name} ${found} against ${output}`],
        });
    }
  };

  return (wanted: TensorToBind, expression: Expression): BoundTensor => {
    const output = dtypeOf(wanted);
    const over = operandsOf<ModelTensor>(expression);
    const shape = wanted.shape ?? referenceOf(wanted.like).shape;
    for (const [index, of] of operandShapes(expression, shape).entries()) {
      const { model, tensor = wanted.name } = itemAt(over, index);
      checkShape(wanted.name, of, model, tensor, wanted.like.model);
    }
    const bind = ({ model, tensor = wanted.name }: ModelTensor): Operand => operandOf(model, tensor);

    const sourcesOfWhole = (of: ModelTensor): readonly StoredTensor[] => {
      const { tensor = wanted.name } = of;
      refusePieces(modelAt(of.model).checkpoint, tensor, referenceOf({ model: of.model, tensor }));
      return sourcesOfOperand(bind(of));
    };

    const only = soleCopy(expression);
    if (only !== undefined) {
      const operand = bind(only);
      if (operand.dtype === output) return { dtype: output, expression: expressionOf(operand, output) };
    }
    const takesBits = expression.kind !== 'copy' && operationOf(expression).takesBits === true;
    if (takesBits) checkBits(wanted, output, over);
    else checkQuantised(wanted, over);
    // All operands have the output's integer dtype, because compatible.ts refuses models that differ.
    if (!isFloating(output) && !takesBits)
      return {
        dtype: output,
        expression: { kind: 'same', sources: over.flatMap((of) => sourcesOfWhole(of)) },
      };
    if (expression.kind === 'copy')
      return { dtype: output, expression: expressionOf(bind(expression.source), output) };
    // Bit operations only select elements, so rounding operands first gives the same bits.
    const bindTo = takesBits ? (of: ModelTensor) => inDtype(bind(of), output) : bind;
    return { dtype: output, expression: mapOperands(expression, bindTo) as Computation<Operand> };
  };
};

const soleCopy = (expression: Expression): ModelTensor | undefined => {
  if (expression.kind === 'copy') return expression.source;
  if (expression.kind !== 'linear') return undefined;
  const [term, more] = expression.terms;
  return more === undefined && term?.weight === 1 ? term.source : undefined;
};
