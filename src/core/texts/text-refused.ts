/** Why a text from outside is not read, as the end of a sentence about its file: `is not JSON (line 2, column 5)`. Nothing of the text stands in it. */
export class TextRefused extends Error {}
