import type { NonFinite } from '../../../base/errors/error-catalogue.js';
import { LayerloomError } from '../../../base/errors/errors.js';
import { itemAt } from '../../../base/errors/lookup.js';
import { optionName } from '../../../base/errors/option-name.js';
import type { Emitted } from '../../../methods/operations/program/program.js';
import type { NonFiniteElement } from '../../../native/job.js';
import type { PlannedTensor } from '../../../plan/plan.js';
import { elementsOf, type Shape } from '../../../tensor/reference.js';

/** A NaN or infinity in a tensor, or in one of its inputs. */
export type NonFiniteValue = Extract<NonFinite, { readonly index: readonly number[] }>;

const indexOf = (element: number, shape: Shape): number[] => {
  let left = element;
  return shape.map((_, dimension) => {
    const size = elementsOf(shape.slice(dimension + 1));
    const at = Math.floor(left / size);
    left -= at * size;
    return at;
  });
};

/** @param files paths of the program's sources; empty for an element of the tensor itself */
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

/** Returns the element with the smallest index; in a tie, the first cause's. */
export const firstOf = (elements: readonly NonFiniteElement[]): NonFiniteElement | undefined =>
  elements.toSorted((a, b) => a.element - b.element || a.cause - b.cause)[0];

/** Returns the elements on which the program's value depends. */
export const elementsOfValue = (
  index: number,
  { watchedOf }: Emitted,
  elements: readonly NonFiniteElement[],
): NonFiniteElement[] => elements.filter(({ watched }) => itemAt(watchedOf, index).includes(watched));

/** Keeps the first NaN or infinity of each shard, in whatever order slices are computed. */
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

export const refusedNonFinite = (value: NonFiniteValue, remedy?: string): LayerloomError<'NON_FINITE'> =>
  new LayerloomError('NON_FINITE', {
    tensors: [value],
    remedy:
      remedy ??
      `mend the checkpoint, or merge it as it is with ${optionName('allowNonFinite')} (allow_non_finite: true in a recipe)`,
  });
