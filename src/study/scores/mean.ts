/**
 * Returns the sum of numbers, the same to the bit in whatever order they stand. Whole numbers, such as scores of 0 and 1,
 * add up exactly; others are sorted first.
 */
export const sumOf = (values: ArrayLike<number>): number => {
  let [sum, areWhole] = [0, true];
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at] as number;
    sum += value;
    areWhole &&= Number.isInteger(value);
  }
  return areWhole ? sum : Float64Array.from(values).sort().reduce(add, 0);
};

const add = (sum: number, value: number): number => sum + value;

/** Returns the sums of several rows of numbers, place by place, the same to the bit in whatever order the rows stand. */
export const sumsOf = (rows: readonly Float64Array[]): Float64Array => {
  const sums = new Float64Array(rows[0]?.length ?? 0);
  if (rows.length < 3 || rows.every((row) => row.every(Number.isInteger))) {
    for (const row of rows)
      for (let at = 0; at < sums.length; at += 1) sums[at] = (sums[at] as number) + (row[at] as number);
    return sums;
  }
  return sums.map((_, at) => sumOf(rows.map((row) => row[at] as number)));
};

/** Returns the mean of numbers, in any order; NaN of none. */
export const meanOf = (values: ArrayLike<number>): number => sumOf(values) / values.length;
