// Ranges of files to hash, decoded by native/addon/decode.cpp.

/**
 * Part of an open file, hashed as part of a message. The message begins at `start`; `begin - start` is a
 * multiple of 64.
 */
export interface HashedRange {
  readonly fd: number;
  /** The message's first byte in the file: 0, or a tensor's first byte. */
  readonly start: number;
  readonly begin: number;
  readonly length: number;
  /** True if the message ends here; otherwise `length` is a multiple of 64. */
  readonly last: boolean;
}

/** Number of 32-bit words in a SHA-256 state. */
export const stateWords = 8;

export const hexOf = (state: Uint32Array): string =>
  Array.from(state, (word) => word.toString(16).padStart(8, '0')).join('');
