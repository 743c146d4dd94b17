/**
 * Why a text is refused, to end a sentence about its file: `is not JSON (line 2, column 5)`. Quotes nothing
 * of the text.
 */
export class TextRefused extends Error {}
