/** Runs in a thread (`in-thread.ts`), so the build bundles this module (`scripts/bundle-libraries.mjs`). */

/**
 * Returns, for each expression, the texts in which it matches.
 *
 * @throws SyntaxError for an invalid expression
 */
export const found = (expressions: readonly string[], texts: readonly string[]): (readonly string[])[] =>
  expressions.map((expression) => {
    const pattern = new RegExp(expression, 'u');
    return texts.filter((text) => pattern.test(text));
  });
