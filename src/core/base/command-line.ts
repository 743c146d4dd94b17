/** True for a text in which no shell acts on any character. */
export const isPlainWord = (text: string): boolean => /^[\w@%+=:,./-]+$/.test(text);

/** Quotes a text as one word of the shell. */
export const shellWord = (text: string): string =>
  isPlainWord(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** Quotes a path as an argument in the shell: `./-rf`, which no command takes for an option. */
export const shellPath = (path: string): string => shellWord(path.startsWith('-') ? `./${path}` : path);

/** A word of a command that is not ours: a path, or the name of a model or a run. */
export interface Argument {
  readonly argument: string;
}

/** Marks a text as a word that is not ours, which `layerloomCommand` keeps from being taken for an option. */
export const argument = (text: string): Argument => ({ argument: text });

/**
 * Returns a command of layerloom's as a reader is to type it, each word quoted for the shell. Every command that a
 * message, a page or a README names is made here, so that tests find them all and run them.
 *
 * @param words a command's name, its arguments and options; what the reader must fill in has capital letters: `DIR`
 */
export const layerloomCommand = <const Words extends readonly (string | Argument)[]>(
  // A word that is neither written in the source nor an argument is an error of types.
  ...words: string extends Words[number] ? never : Words
): string =>
  [
    'layerloom',
    ...words.map((word) => (typeof word === 'string' ? shellWord(word) : shellPath(word.argument))),
  ].join(' ');
