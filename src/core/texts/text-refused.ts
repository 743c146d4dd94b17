/** A reason that completes a sentence about the file: `is not JSON (line 2, column 5)`. */
export class TextRefused extends Error {}
