/** Control characters, on which terminals act, and bidirectional controls, which reorder text. */
const acting = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Escapes untrusted names in a text of several lines as JSON does, so that escaped JSON keeps its value. */
export const visible = (text: string): string =>
  text.replace(acting, (character) => (character === '\n' ? character : escaped(character)));

/** Escapes a text of one line, including newlines, so that no name can imitate a line of layerloom's. */
export const visibleLine = (text: string): string => text.replace(acting, escaped);
