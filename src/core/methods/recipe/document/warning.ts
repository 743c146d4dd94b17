import type { LayerloomError } from '../../../base/errors/errors.js';
import { optionName } from '../../../base/errors/option-name.js';
import { visibleLine } from '../../../base/errors/visible.js';
import { nearest } from '../../../base/nearest.js';
import { invalidRecipe, shown } from './invalid.js';
import { type Location, locationOf, type Mark } from './source.js';
import type { Mapping } from './tree.js';

/** A warning about input that is accepted but probably unintended. */
export interface RecipeWarning {
  readonly text: string;
  readonly place: Location;
  /** Thrown if warnings are errors (`strict`). */
  readonly error: LayerloomError<'RECIPE_INVALID'>;
}

export interface Oddity {
  readonly mark: Mark;
  readonly key: string;
  readonly reason: string;
  /** How the input is treated; default: ignored, as in mergekit. */
  readonly effect?: string;
  readonly expected?: string | undefined;
  readonly nearest?: string | undefined;
}

export const warningOf = ({
  mark,
  key,
  reason,
  effect = 'ignored, as mergekit does',
  expected,
  nearest,
}: Oddity): RecipeWarning => {
  const place = locationOf(mark);
  const remedy =
    (expected === undefined ? '' : `; expected ${expected}`) +
    (nearest === undefined ? '' : `; did you mean ${nearest}?`);
  return {
    text: `${visibleLine(place.file)}:${place.line}:${place.column}: ${shown(key)}: ${reason}; ${effect}${remedy}`,
    place,
    error: invalidRecipe(mark, {
      key,
      reason: `${reason} (${optionName('strict')})`,
      ...(expected === undefined ? {} : { expected }),
      nearest,
    }) as LayerloomError<'RECIPE_INVALID'>,
  };
};

/**
 * Warns of unknown keys in mergekit's dialect.
 *
 * @param parameters names that belong under the mapping's `parameters`
 */
export const warnOfUnknown = (
  { entries }: Mapping,
  place: string,
  known: readonly string[],
  warn: (oddity: Oddity) => void,
  parameters: readonly string[] = [],
): void => {
  for (const [key, { key: mark }] of entries) {
    if (known.includes(key)) continue;
    const reason = `unknown key of ${place}`;
    if (parameters.includes(key)) warn({ key, mark, reason, expected: `${key} under parameters` });
    else warn({ key, mark, reason, nearest: nearest(key, [...known, ...parameters]) });
  }
};
