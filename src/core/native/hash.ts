// Parts of files to hash, decoded by native/addon/decode.cpp.

/** Bytes of an open file; `begin` is a multiple of 64. */
export interface HashedRange {
  readonly fd: number;
  readonly begin: number;
  readonly length: number;
  /** True if the file ends here. Otherwise `length` is a multiple of 64. */
  readonly last: boolean;
}

/** Number of words in the SHA-256 state that is kept between parts of a file. */
export const stateWords = 8;
