import { LayerloomError } from '../errors.js';
import { nearest } from '../recipe/nearest.js';
import type { Composed } from './compose.js';
import { describeExpression } from './origins.js';
import type { PlannedExpression, PlannedInput } from './plan.js';

/** The derivation of one tensor of a merge. */
export interface Explanation {
  readonly tensor: string;
  readonly layer: number | null;
  readonly dtype: string;
  readonly shape: readonly number[];
  /** The method's parameters for it, gradients and filters resolved. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** In words, over the models' names; and as it is planned, over byte ranges. */
  readonly words: string;
  readonly expression: PlannedExpression;
}

/** @throws LayerloomError INVALID_PARAMETER where the merge has no tensor of that name */
export const explain = (
  { tensors, compiled }: Composed,
  tensor: string,
  inputs: readonly PlannedInput[],
): Explanation => {
  const found = tensors.find(({ name }) => name === tensor);
  if (found === undefined) {
    const near = nearest(
      tensor,
      tensors.map(({ name }) => name),
    );
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: 'explain',
      value: tensor,
      expected: `a tensor of the output${near === undefined ? '' : `, such as ${near}`}`,
    });
  }
  const { name, dtype, shape, place, expression } = found;
  return {
    tensor: name,
    layer: place.layer ?? null,
    dtype,
    shape,
    parameters: compiled.parametersOf?.(place, name) ?? compiled.resolved,
    words: describeExpression(expression, inputs),
    expression,
  };
};
