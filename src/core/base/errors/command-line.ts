import { keptPath } from '../way.js';

/** True for text without characters that a shell interprets. */
export const isPlainWord = (text: string): boolean => /^[\w@%+=:,./-]+$/.test(text);

export const shellWord = (text: string): string =>
  isPlainWord(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** Quotes a path for the shell. `-rf` becomes `./-rf`, which no program reads as an option. */
export const shellPath = (path: string): string => shellWord(path.startsWith('-') ? `./${path}` : path);

/** A word from outside, such as a path or a model's name. */
export interface Argument {
  readonly argument: string;
}

/** Marks a text as coming from outside. It is then quoted so that no program reads it as an option. */
export const argument = (text: string): Argument => ({ argument: text });

export const madeCommands = new Map<string, readonly (string | Argument)[]>();

/**
 * Returns a layerloom command, quoted for the shell. All commands in messages and pages are made here, so
 * that tests can run each.
 *
 * @param words placeholders are in capitals: `DIR`
 */
export const layerloomCommand = <const Words extends readonly (string | Argument)[]>(
  // A plain `string` is a type error: only literals and `Argument`s are accepted.
  ...words: string extends Words[number] ? never : Words
): string => {
  const spelt = words.map((word) =>
    typeof word === 'string' ? shellWord(word) : shellPath(keptPath(word.argument)),
  );
  const text = ['layerloom', ...spelt].join(' ');
  madeCommands.set(text, words);
  return text;
};
