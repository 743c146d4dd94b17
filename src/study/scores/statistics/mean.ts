/** Sums values, with the same bits in any order: whole numbers add up exactly, others are sorted first. */
export const sumOf = (values: ArrayLike<number>): number => {
  let [sum, areWhole] = [0, true];
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at] as number;
    sum += value;
    areWhole &&= Number.isInteger(value);
  }
  return areWhole ? sum : sorted(values).reduce(add, 0);
};

/** Maximum length of a list sorted by insertion, because calling `sort` takes longer for short lists. */
const short = 24;

const sorted = (values: ArrayLike<number>): Float64Array => {
  const own = Float64Array.from(values);
  if (own.length > short) return own.sort();
  for (let at = 1; at < own.length; at += 1) {
    const value = own[at] as number;
    let to = at;
    for (; to > 0 && (own[to - 1] as number) > value; to -= 1) own[to] = own[to - 1] as number;
    own[to] = value;
  }
  return own;
};

const add = (sum: number, value: number): number => sum + value;

/** Returns element-wise sums, with the same bits in any order of rows. */
export const sumsOf = (rows: readonly Float64Array[]): Float64Array => {
  const sums = new Float64Array(rows[0]?.length ?? 0);
  if (rows.length < 3 || rows.every((row) => row.every(Number.isInteger))) {
    for (const row of rows)
      for (let at = 0; at < sums.length; at += 1) sums[at] = (sums[at] as number) + (row[at] as number);
    return sums;
  }
  const values = new Float64Array(rows.length);
  return sums.map((_, at) => {
    for (let row = 0; row < values.length; row += 1) values[row] = (rows[row] as Float64Array)[at] as number;
    return sumOf(values);
  });
};

/**
 * Prepares rows for repeated sums over problems. The table is stored problem by problem, so that additions to
 * different rows overlap; within one row, each addition waits for the previous one.
 *
 * @returns a function from counts, which say how often each problem counts, to sums; the sums are valid until
 *   the next call
 */
export const countedSums = (rows: readonly Float64Array[]): ((counts: ArrayLike<number>) => Float64Array) => {
  const [wide, n] = [rows.length, rows[0]?.length ?? 0];
  const table = new Float64Array(wide * n);
  for (const [row, values] of rows.entries())
    for (let at = 0; at < n; at += 1) table[at * wide + row] = values[at] as number;
  const sums = new Float64Array(wide);
  return (counts) => {
    sums.fill(0);
    for (let at = 0; at < n; at += 1) {
      const count = counts[at] as number;
      if (count === 0) continue;
      for (let row = 0, from = at * wide; row < wide; row += 1, from += 1)
        sums[row] = (sums[row] as number) + count * (table[from] as number);
    }
    return sums;
  };
};

/** Returns the mean; NaN for an empty list. */
export const meanOf = (values: ArrayLike<number>): number => sumOf(values) / values.length;
