import type { Extent } from '../tensor/extent.js';

/** Bytes of a file in the cache of ranges that a run needs. */
export interface NeededRanges {
  /** Absolute, in the cache of ranges. */
  readonly path: string;
  /** From the start of the file, ascending, disjoint. */
  readonly ranges: readonly Extent[];
}

/** Progress of a download. */
export interface DownloadProgress {
  readonly done: number;
  readonly total: number;
}

/** Options of whatever asks the hub. */
export interface HubOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined;
}
