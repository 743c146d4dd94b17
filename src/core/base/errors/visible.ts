/** Control characters, which a terminal acts on, and bidirectional controls, which reorder text. */
const acting = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * Escapes a multi-line text with untrusted names for the terminal, as JSON does, so that escaped JSON keeps
 * its value.
 */
export const visible = (text: string): string =>
  text.replace(acting, (character) => (character === '\n' ? character : escaped(character)));

/** Escapes a one-line text, newlines included, so that no name can look like a line of ours. */
export const visibleLine = (text: string): string => text.replace(acting, escaped);
