// Parts of files to hash, decoded by native/addon/decode.cpp.

/** Part of a message: bytes of an open file from `start`. `begin - start` is a multiple of 64. */
export interface HashedRange {
  readonly fd: number;
  /** 0 for a whole file; a tensor's first byte for a tensor. */
  readonly start: number;
  readonly begin: number;
  readonly length: number;
  /** True if the message ends here; otherwise `length` is a multiple of 64. */
  readonly last: boolean;
}

/** Words of SHA-256's state between two parts of a message. */
export const stateWords = 8;

export const hexOf = (state: Uint32Array): string =>
  Array.from(state, (word) => word.toString(16).padStart(8, '0')).join('');
