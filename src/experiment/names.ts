import { invalid } from '../recipe/invalid.js';
import { locationOf, type Mark } from '../recipe/source.js';

/** Letters, digits, `.`, `_` and `-`: names become directories, `+` joins two of them, and `=` and `/` mean something in `NAME=PATH`. */
const soundName = /^[\p{L}\p{N}][\p{L}\p{N}._-]{0,63}$/u;

/** What stands for more than itself where an expert could be named. */
const reservedExperts = ['soup', 'all-soup', 'task', 'language', 'base'];

/** What has a place of its own among the directories of languages. */
const reservedLanguages = ['all', 'experiment.json'];

/** Names that differ only so are one directory on some file systems. */
export const folded = (name: string): string => name.normalize('NFC').toLowerCase();

const reserved = { expert: reservedExperts, language: reservedLanguages, merge: [] as string[] };

/** @throws LayerloomError RECIPE_INVALID for what cannot be a directory, or means something else */
export const checkName = (name: string, mark: Mark, kind: keyof typeof reserved): void => {
  if (!soundName.test(name))
    throw invalid(mark, {
      key: name,
      reason: `no name of ${kind === 'expert' ? 'an expert' : `a ${kind}`}`,
      expected: 'letters, digits, . _ and -, at most 64, since it names a directory',
    });
  if (reserved[kind].includes(folded(name)))
    throw invalid(mark, {
      key: name,
      reason: 'this name means something else in an experiment',
      expected: 'another one',
    });
};

/** A place as it stands in the text of another place's message. */
export const placeOf = (mark: Mark): string => {
  const { file, line, column } = locationOf(mark);
  return `${file}:${line}:${column}`;
};
