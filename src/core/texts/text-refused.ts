/**
 * Thrown for a refused text. The message completes a sentence about the file: `is not JSON (line 2, column
 * 5)`. Quotes nothing from the text.
 */
export class TextRefused extends Error {}
