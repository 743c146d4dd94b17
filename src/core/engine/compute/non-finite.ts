import { LayerloomError, type NonFinite } from '../../base/errors.js';
import { itemAt } from '../../base/lookup.js';
import { optionName } from '../../base/option-name.js';
import type { Emitted } from '../../methods/operations/program.js';
import type { NonFiniteElement } from '../../native/job.js';
import type { PlannedTensor } from '../../plan/plan.js';
import { elementsOf, type Shape } from '../../tensor/reference.js';

/** An element that is no finite number: of an input that a tensor is computed of, or of the tensor itself. */
export type NonFiniteValue = Extract<NonFinite, { readonly index: readonly number[] }>;

/** The index of an element of a tensor, by dimension. */
const indexOf = (element: number, shape: Shape): number[] => {
  let left = element;
  return shape.map((_, dimension) => {
    const size = elementsOf(shape.slice(dimension + 1));
    const at = Math.floor(left / size);
    left -= at * size;
    return at;
  });
};

/** Returns what was found of a tensor. @param files those of the program's sources; none for a tensor's own elements */
export const describeNonFinite = (
  { cause, element, number }: NonFiniteElement,
  { name, shape }: { readonly name: string; readonly shape: Shape },
  files: readonly string[] = [],
): NonFiniteValue => {
  const file = files[cause];
  return {
    tensor: name,
    index: indexOf(element, shape),
    is: String(number),
    ...(file === undefined ? {} : { file }),
  };
};

/** Returns the first of some elements: of those at one index, of the first value of the program. */
export const firstOf = (elements: readonly NonFiniteElement[]): NonFiniteElement | undefined =>
  elements.toSorted((a, b) => a.element - b.element || a.cause - b.cause)[0];

/** Returns those elements that one of a program's values is, or is computed with. */
export const elementsOfValue = (
  index: number,
  { watchedOf }: Emitted,
  elements: readonly NonFiniteElement[],
): NonFiniteElement[] => elements.filter(({ watched }) => itemAt(watchedOf, index).includes(watched));

/**
 * The first element that is not finite of each shard: of its first tensor that has one, whichever slice is computed
 * first.
 */
export class NonFiniteShards<S> {
  readonly #found = new Map<S, { begin: number; found: NonFiniteElement; value: NonFiniteValue }>();

  note(shard: S, { begin }: PlannedTensor, found: NonFiniteElement, value: NonFiniteValue): void {
    const former = this.#found.get(shard);
    if (
      former === undefined ||
      begin < former.begin ||
      (begin === former.begin && firstOf([former.found, found]) === found)
    )
      this.#found.set(shard, { begin, found, value });
  }

  of(shard: S): NonFiniteValue | undefined {
    return this.#found.get(shard)?.value;
  }
}

/** Returns the error of a merge that was not asked to take such values. */
export const refusedNonFinite = (value: NonFiniteValue, remedy?: string): LayerloomError<'NON_FINITE'> =>
  new LayerloomError('NON_FINITE', {
    tensors: [value],
    remedy:
      remedy ??
      `mend the checkpoint, or merge it as it is with ${optionName('allowNonFinite')} (allow_non_finite: true in a recipe)`,
  });
