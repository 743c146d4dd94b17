// Layout of a tally, as in native/jobs/job.hpp: the number of tallied elements, then for each term three words for its
// lower bound and three words for its upper bound.

export interface Tally {
  readonly above: number;
  /** Smallest magnitude above the bound, and largest magnitude not above it, as float32 bits. */
  readonly least: number;
  readonly most: number;
}

const ofBound = 3;

/** Returns an empty tally for a vote of `terms` terms, in shared memory. */
export const newTally = (terms: number): BigInt64Array => {
  const words = new BigInt64Array(new SharedArrayBuffer(8 * (1 + 2 * terms * ofBound)));
  for (let word = 2; word < words.length; word += ofBound) words[word] = 0xffff_ffffn;
  return words;
};

/** Counts elements whose votes had finite inputs and results. */
export const talliedElements = (words: BigInt64Array): number => Number(words[0]);

/** Reads the tally of a bound. Term t has its lower bound at index 2t, its upper bound at 2t + 1. */
export const tallyAt = (words: BigInt64Array, bound: number): Tally => {
  const [above = 0, least = 0, most = 0] = Array.from(
    words.subarray(1 + bound * ofBound, 1 + (bound + 1) * ofBound),
    Number,
  );
  return { above, least, most };
};
