import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { LayerloomError } from '../errors.js';
import type { Expression } from '../methods/method.js';
import { type ArithmeticDtype, type Dtype, isFloating } from '../tensor/dtype.js';
import { encodeKept } from './kept.js';
import type { PlannedExpression, Source } from './plan.js';
import { quantisedTensors } from './quantised.js';

/** A tensor's expression over byte ranges, and the dtype its output has. */
export interface Bound {
  readonly dtype: Dtype;
  readonly expression: PlannedExpression;
}

/**
 * Turns a method's expressions, which speak of models, into expressions over byte ranges, which the engine carries out. Here
 * dtypes are settled: without `dtype` the output has the first model's; with it every floating tensor is converted, copied
 * ones too. Integers that would be averaged must be equal; quantised weights and their scales are only ever copied.
 *
 * @param models the merged models; their tensors have been found to agree in name and shape
 * @returns a function of tensor name and expression, which throws LayerloomError QUANTISED_WEIGHTS
 */
export const binder = (models: readonly CheckpointIndex[], dtype: ArithmeticDtype | undefined) => {
  const quantised = models.map(({ tensors }) => quantisedTensors(tensors.keys()));

  const sourceOf = (input: number, name: string): Source => {
    const reference = models[input]?.tensors.get(name);
    if (reference === undefined)
      throw new Error(`model ${input} has no tensor ${name}, though it was found compatible`);
    const { file, begin, end, dtype: stored } = reference;
    return { input, file, begin, end, dtype: stored };
  };

  const dtypeOf = (name: string): Dtype => {
    const stored = sourceOf(0, name).dtype;
    return dtype !== undefined && isFloating(stored) && !quantised[0]?.has(name) ? dtype : stored;
  };

  /** Rows are taken as they stand: both models' bytes must mean the same. */
  const bindRows = (name: string, expression: Expression & { kind: 'rowSelect' }): Bound => {
    const [source, base] = [sourceOf(expression.model, name), sourceOf(expression.base, name)];
    const output = dtypeOf(name);
    if (output !== source.dtype)
      throw new LayerloomError('INVALID_PARAMETER', {
        parameter: 'dtype',
        value: dtype,
        expected:
          'none where rows are reverted, whose bits are taken as they are; convert the result with relayout',
      });
    if (source.dtype !== base.dtype)
      throw new LayerloomError('DTYPE_MISMATCH', {
        first: models[expression.model]?.path ?? '',
        other: models[expression.base]?.path ?? '',
        tensors: [`${name} ${base.dtype} against ${source.dtype}`],
      });
    const count = expression.kept.reduce((total, keeps) => total + keeps, 0);
    if (count === 0) return { dtype: output, expression: { kind: 'copy', source: base } };
    if (count === expression.kept.length) return { dtype: output, expression: { kind: 'copy', source } };
    const { rows, kept } = expression;
    return { dtype: output, expression: { kind: 'rowSelect', source, base, rows, kept: encodeKept(kept) } };
  };

  return (name: string, expression: Expression): Bound => {
    if (expression.kind === 'rowSelect') return bindRows(name, expression);
    const output = dtypeOf(name);
    const terms =
      expression.kind === 'copy'
        ? [{ source: sourceOf(expression.model, name), weight: 1 }]
        : expression.terms.map(({ model, weight }) => ({ source: sourceOf(model, name), weight }));

    const [only] = terms;
    if (terms.length === 1 && only?.weight === 1 && only.source.dtype === output)
      return { dtype: output, expression: { kind: 'copy', source: only.source } };

    for (const { source } of terms)
      if (quantised[source.input]?.has(name))
        throw new LayerloomError('QUANTISED_WEIGHTS', {
          model: models[source.input]?.path ?? '',
          tensor: name,
        });
    // Models that differ in dtype were found to be floating both.
    if (!isFloating(output))
      return { dtype: output, expression: { kind: 'same', sources: terms.map(({ source }) => source) } };
    return { dtype: output, expression: { kind: 'linear', terms } };
  };
};
