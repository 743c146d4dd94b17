/** Runs in a thread (`in-thread.ts`), so the build bundles this module (`scripts/bundle-libraries.mjs`). */

/**
 * Returns the texts that each expression matches.
 *
 * @throws SyntaxError for an invalid expression
 */
export const found = (expressions: readonly string[], texts: readonly string[]): (readonly string[])[] =>
  expressions.map((expression) => {
    const pattern = new RegExp(expression, 'u');
    return texts.filter((text) => pattern.test(text));
  });

/**
 * Returns the first or last match in each text: its first group with text, else the whole match.
 *
 * @throws SyntaxError for an invalid expression
 */
export const taken = (
  expression: string,
  which: 'first' | 'last',
  texts: readonly string[],
): (string | undefined)[] => {
  const pattern = new RegExp(expression, 'gu');
  return texts.map((text) => {
    let match: RegExpMatchArray | undefined;
    for (const found of text.matchAll(pattern)) {
      match = found;
      if (which === 'first') break;
    }
    return match?.slice(1).find((group) => group !== undefined && group !== '') ?? match?.[0];
  });
};
