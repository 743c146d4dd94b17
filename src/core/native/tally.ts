// The words of a tally, as native/jobs/job.hpp has them: the elements that were tallied, then three for the lower and three
// for the upper bound of each term of a vote.

/** What lies at a bound in the order of magnitudes. */
export interface Tally {
  /** Elements above it. */
  readonly above: number;
  /** The least magnitude of these, and the largest of the others, as float32 bits. */
  readonly least: number;
  readonly most: number;
}

const ofBound = 3;

/** Returns an empty tally of a vote of so many terms, in memory that threads share. */
export const newTally = (terms: number): BigInt64Array => {
  const words = new BigInt64Array(new SharedArrayBuffer(8 * (1 + 2 * terms * ofBound)));
  for (let word = 2; word < words.length; word += ofBound) words[word] = 0xffff_ffffn;
  return words;
};

/** The elements that were tallied: those of votes whose inputs and results are finite numbers. */
export const talliedElements = (words: BigInt64Array): number => Number(words[0]);

/** Returns the tally of a bound: of term t the lower one is at 2t, the upper one behind it. */
export const tallyAt = (words: BigInt64Array, bound: number): Tally => {
  const [above = 0, least = 0, most = 0] = Array.from(
    words.subarray(1 + bound * ofBound, 1 + (bound + 1) * ofBound),
    Number,
  );
  return { above, least, most };
};
