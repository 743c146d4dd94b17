import { invalidParameter } from '../../base/errors/invalid-parameter.js';
import { itemAt } from '../../base/errors/lookup.js';
import { nearest } from '../../base/nearest.js';
import { describeExpression } from '../card/origins.js';
import type { PlannedExpression, PlannedInput } from '../plan.js';
import type { Composed } from './composed.js';

/** How one output tensor is computed. */
export interface Explanation {
  readonly tensor: string;
  readonly layer: number | null;
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Parameters, with gradients and filters resolved. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The expression, with models' names. */
  readonly words: string;
  readonly expression: PlannedExpression;
}

/**
 * Suggests a tensor: the name that `word` misspells, else a name that contains it, else the name that shares most
 * dotted parts with it.
 */
const nearestTensor = (word: string, names: readonly string[]): string => {
  const parts = word.split('.');
  const shared = (name: string) => name.split('.').filter((part) => parts.includes(part)).length;
  return (
    nearest(word, names) ??
    names.find((name) => name.includes(word)) ??
    names.reduce((best, name) => (shared(name) > shared(best) ? name : best), itemAt(names, 0))
  );
};

/** @throws INVALID_PARAMETER if the merge has no such tensor */
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
