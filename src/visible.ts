/** What a terminal acts on instead of showing it, and what shows text in another order than it has: control characters and bidirectional overrides. */
const acting = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * A text of several lines as a terminal may have it: names in it come from files of strangers. Escapes are JSON's, so that JSON is the same value as before.
 */
export const visible = (text: string): string =>
  text.replace(acting, (character) => (character === '\n' ? character : escaped(character)));

/** The same for what is one line, so that no name looks like a line of our own. */
export const visibleLine = (text: string): string => text.replace(acting, escaped);
