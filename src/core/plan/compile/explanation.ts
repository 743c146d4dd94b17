import { invalidParameter } from '../../base/invalid-parameter.js';
import { itemAt } from '../../base/lookup.js';
import { nearest } from '../../methods/recipe/nearest.js';
import { describeExpression } from '../card/origins.js';
import type { PlannedExpression, PlannedInput } from '../plan.js';
import type { Composed } from './composed.js';

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

/** Returns the name nearest to a word: a misspelt one, one that contains it, or that shares most parts. */
const nearestTensor = (word: string, names: readonly string[]): string => {
  const parts = word.split('.');
  const shared = (name: string) => name.split('.').filter((part) => parts.includes(part)).length;
  return (
    nearest(word, names) ??
    names.find((name) => name.includes(word)) ??
    names.reduce((best, name) => (shared(name) > shared(best) ? name : best), itemAt(names, 0))
  );
};

/** @throws LayerloomError INVALID_PARAMETER where the merge has no tensor of that name */
export const explain = (
  { tensors, compiled }: Composed,
  tensor: string,
  inputs: readonly PlannedInput[],
): Explanation => {
  const found = tensors.find(({ name }) => name === tensor);
  if (found === undefined) {
    const names = tensors.map(({ name }) => name);
    throw invalidParameter(
      'explain',
      tensor,
      `a tensor of the output, such as ${nearestTensor(tensor, names)}`,
    );
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
