import type { FetchOptions } from '../source.js';

/** A hub model whose headers and side files are on this machine. */
export interface BroughtModel {
  /** A snapshot in the hub's cache, or a folder in the cache of ranges. */
  readonly path: string;
  readonly id: string;
  readonly revision: string;
}

export interface HubOptions extends FetchOptions {
  /** Variables for hub, token and caches; default: `process.env`. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Default: `usualPatience`. */
  readonly patience?: Patience | undefined;
}

/** Limits on retries after transient failures. */
export interface Patience {
  /** Consecutive failures without progress before giving up. */
  readonly attempts: number;
  /** Milliseconds before the first retry. Doubled each time, plus up to half at random. */
  readonly firstDelayMs: number;
  /** Maximum delay, even if the server asks for more. */
  readonly longestDelayMs: number;
}

/** Retries for about five minutes, the hub's window for rate limits. */
export const usualPatience: Patience = { attempts: 12, firstDelayMs: 500, longestDelayMs: 60_000 };
