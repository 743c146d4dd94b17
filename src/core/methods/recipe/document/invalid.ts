import { LayerloomError } from '../../../base/errors/errors.js';
import { nearest } from '../../../base/nearest.js';
import { locationOf, type Mark } from './source.js';
import type { Entries } from './tree.js';

export interface RecipeFault {
  readonly key?: string;
  readonly reason: string;
  readonly expected?: string | undefined;
  readonly nearest?: string | undefined;
}

/** Returns a plain word of at most 80 characters as it is, another as JSON, cut to that length. */
export const shown = (word: string): string =>
  /^[\p{L}\p{N}\p{P}\p{S} ]{1,80}$/u.test(word)
    ? word
    : JSON.stringify(word.length > 80 ? `${word.slice(0, 79)}…` : word);

export const invalidRecipe = (mark: Mark, found: RecipeFault): LayerloomError => {
  const place = locationOf(mark);
  const { key, ...fault }: RecipeFault = mark.source.foreign ?? found;
  return new LayerloomError(
    'RECIPE_INVALID',
    { ...(key === undefined ? {} : { key: shown(key) }), ...fault, excerpt: place.excerpt },
    { context: { place } },
  );
};

export const unknownKey = (
  key: string,
  mark: Mark,
  place: string,
  known: readonly string[],
): LayerloomError => {
  const meant = nearest(key, known);
  return invalidRecipe(mark, {
    key,
    reason: `unknown key of ${place}`,
    expected: `one of ${known.join(', ')}`,
    ...(meant === undefined ? {} : { nearest: meant }),
  });
};

export const unknownKeyOf = (block: string, key: string, known: readonly string[]): LayerloomError =>
  new LayerloomError(
    'RECIPE_INVALID',
    {
      ...{ file: block, key, reason: `unknown key of ${block}`, expected: `one of ${known.join(', ')}` },
      nearest: nearest(key, known),
    },
    { context: { recipePath: [block, key] } },
  );

export const checkKeys = (entries: Entries, place: string, known: readonly string[]): void => {
  for (const [key, entry] of entries)
    if (!known.includes(key)) throw unknownKey(key, entry.key, place, known);
};
