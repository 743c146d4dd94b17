/**
 * Regular expressions, in a thread of their own (`in-thread.ts`). The build replaces the compiled module by its bundle
 * (`scripts/bundle-libraries.mjs`), which a thread can load.
 */

/** Returns for each expression the texts that it is found in. @throws SyntaxError for one that is none */
export const found = (expressions: readonly string[], texts: readonly string[]): (readonly string[])[] =>
  expressions.map((expression) => {
    const pattern = new RegExp(expression, 'u');
    return texts.filter((text) => pattern.test(text));
  });
