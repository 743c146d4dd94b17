/** Formats a number with at most four significant digits. */
export const decimals = (weight: number): string => String(Number(weight.toPrecision(4)));

/** Formats a sum: `0.5 math-1 + 0.5 jpn-1`; a single term of weight 1 is only its name. */
export const describeSum = (terms: readonly (readonly [number, string])[]): string => {
  const [only, more] = terms;
  if (only !== undefined && more === undefined && only[0] === 1) return only[1];
  return terms
    .map(([weight, name]) => `${decimals(weight)} ${name}`)
    .join(' + ')
    .replaceAll('+ -', '− ');
};
