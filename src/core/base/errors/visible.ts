/** Control characters that terminals act on, and bidirectional controls that reorder text. */
const acting = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Escapes control characters except newlines, like JSON, so that JSON in the text keeps its value. */
export const visible = (text: string): string =>
  text.replace(acting, (character) => (character === '\n' ? character : escaped(character)));

/** Escapes control characters and newlines, so that a name cannot imitate a line of ours. */
export const visibleLine = (text: string): string => text.replace(acting, escaped);
