/** True for a text in which no shell acts on any character. */
export const isPlainWord = (text: string): boolean => /^[\w@%+=:,./-]+$/.test(text);

/** Quotes a text as one word of the shell. */
export const shellWord = (text: string): string =>
  isPlainWord(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/**
 * Returns a command of layerloom's as a reader is to type it, each word quoted for the shell. Every command that a
 * message, a page or a README names is made here, so that tests find them all and run them.
 *
 * @param words a command's name, its arguments and options; what the reader must fill in has capital letters: `DIR`
 */
export const layerloomCommand = (...words: readonly string[]): string =>
  ['layerloom', ...words.map(shellWord)].join(' ');
