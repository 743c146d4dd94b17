/**
 * Regular expressions for a thread (`in-thread.ts`). The build replaces this module by its bundle
 * (`scripts/bundle-libraries.mjs`), which a thread can load.
 */

/**
 * Returns for each expression the texts in which it matches. @throws SyntaxError for an invalid expression
 */
export const found = (expressions: readonly string[], texts: readonly string[]): (readonly string[])[] =>
  expressions.map((expression) => {
    const pattern = new RegExp(expression, 'u');
    return texts.filter((text) => pattern.test(text));
  });
