import type { FetchOptions } from '../source.js';

/** A model of the hub whose headers and side files are here. */
export interface BroughtModel {
  /** The directory to open as a checkpoint: a snapshot of the hub's cache, or a folder of the cache of ranges. */
  readonly path: string;
  /** `org/name`. */
  readonly id: string;
  /** The commit. */
  readonly revision: string;
}

/** Options of whatever asks the hub. */
export interface HubOptions extends FetchOptions {
  /** Variables that say which hub, whose token and where the caches are; the process's own by default. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Limits of repeating what failed for a reason that may pass; `usualPatience` by default. */
  readonly patience?: Patience | undefined;
}

/** Limits of repeating a request that failed for a reason that may pass. */
export interface Patience {
  /** Failures in a row without a byte in between after which a request is given up. */
  readonly attempts: number;
  /** Milliseconds before the first repetition; doubled for each further one, and at random up to half longer. */
  readonly firstDelayMs: number;
  /** The longest delay, also where the server asks for a longer one. */
  readonly longestDelayMs: number;
}

/** About five minutes in all: the hub's windows of rate limits are as long. */
export const usualPatience: Patience = { attempts: 12, firstDelayMs: 500, longestDelayMs: 60_000 };
