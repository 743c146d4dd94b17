// Parts of files to hash, decoded by native/addon/decode.cpp.

/** Bytes of an open file; `begin` is a multiple of 64. */
export interface HashedRange {
  readonly fd: number;
  readonly begin: number;
  readonly length: number;
  /** True if the file ends here; otherwise `length` is a multiple of 64. */
  readonly last: boolean;
}

/** Words of SHA-256's state between two parts of a file. */
export const stateWords = 8;
