/** Sums values with the same bits in any order: whole numbers add up exactly, others are sorted first. */
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

/** Returns the element-wise mean, with the same bits in any order of rows. */
export const sumsOf = (rows: readonly Float64Array[]): Float64Array => {
  const sums = new Float64Array(rows[0]?.length ?? 0);
  if (rows.length < 3 || rows.every((row) => row.every(Number.isInteger))) {
    for (const row of rows)
      for (let at = 0; at < sums.length; at += 1) sums[at] = (sums[at] as number) + (row[at] as number);
    return sums;
  }
  return sums.map((_, at) => sumOf(rows.map((row) => row[at] as number)));
};

/** Returns the mean; NaN for an empty list. */
export const meanOf = (values: ArrayLike<number>): number => sumOf(values) / values.length;
