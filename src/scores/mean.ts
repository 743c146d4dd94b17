/** Returns the mean of numbers; NaN of none. */
export const meanOf = (values: ArrayLike<number>): number => {
  let sum = 0;
  for (let at = 0; at < values.length; at += 1) sum += values[at] as number;
  return sum / values.length;
};
