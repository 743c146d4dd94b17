// Parts of files that are hashed, as the addon takes them; native/addon/decode_hash.cpp reads them.

/** Bytes of an open file, from a whole number of blocks of 64 bytes on. */
export interface HashedRange {
  readonly fd: number;
  readonly begin: number;
  readonly length: number;
  /** The file ends with it; else it is of whole blocks. */
  readonly last: boolean;
}

/** Words of the state of SHA-256 between two parts of a file. */
export const stateWords = 8;
