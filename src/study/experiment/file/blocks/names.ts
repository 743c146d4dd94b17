import { invalidRecipe } from '../../../../core/methods/recipe/document/invalid.js';
import { locationOf, type Mark } from '../../../../core/methods/recipe/document/source.js';

/** Matches names of models. Directory names join two by `+`; `=` and `/` would break `NAME=PATH`. */
const soundName = /^[\p{L}\p{N}][\p{L}\p{N}._-]{0,63}$/u;

/** Words that have another meaning in place of an expert's name. */
const reservedExperts = ['soup', 'all-soup', 'task', 'language', 'base'];

/** Other entries of the folder of the languages' directories. */
const reservedLanguages = ['all', 'experiment.json'];

/** Some file systems ignore case and Unicode composition, so names that differ only in these are equal. */
export const folded = (name: string): string => name.normalize('NFC').toLowerCase();

const reserved = {
  expert: reservedExperts,
  reference: reservedExperts,
  language: reservedLanguages,
  merge: [] as string[],
  /** Without merges, no word is reserved. */
  model: [] as string[],
};

export const isExpertName = (name: string): boolean =>
  soundName.test(name) && ![...reservedExperts, ...reservedLanguages].includes(folded(name));

/** @throws RECIPE_INVALID for a name that is reserved or cannot be a directory */
export const checkName = (name: string, mark: Mark, kind: keyof typeof reserved): void => {
  if (!soundName.test(name))
    throw invalidRecipe(mark, {
      key: name,
      reason: `not a valid name of ${kind === 'expert' ? 'an expert' : `a ${kind}`}`,
      expected: 'letters, digits, . _ and -, at most 64, since it names a directory',
    });
  if (reserved[kind].includes(folded(name)))
    throw invalidRecipe(mark, {
      key: name,
      reason: 'this name is reserved in an experiment',
      expected: 'another name',
    });
};

export const placeOf = (mark: Mark): string => {
  const { file, line, column } = locationOf(mark);
  return `${file}:${line}:${column}`;
};

/** Names of all models. They must be unique, because directories and reports use only the name. */
export class ModelNames {
  readonly #taken = new Map<string, { name: string; what: string; path: string; mark: Mark }>();

  /** @throws RECIPE_INVALID if another model has the name; several languages may share an expert */
  add(name: string, what: string, path: string, mark: Mark): void {
    const former = this.#taken.get(folded(name));
    if (former === undefined) this.#taken.set(folded(name), { name, what, path, mark });
    else if (former.name !== name || former.what !== what || former.path !== path)
      throw invalidRecipe(mark, {
        key: name,
        reason: `two models have this name: ${former.what} at ${placeOf(former.mark)} (${former.path}), and here ${what} (${path})`,
        expected: 'different names',
      });
  }
}
