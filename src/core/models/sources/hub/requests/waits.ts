import { channel } from 'node:diagnostics_channel';

/** A wait before a retry. */
export interface Wait {
  readonly seconds: number;
  /** Why the last attempt failed. */
  readonly reason: string;
}

/** Publishes longer waits, so that programs can tell users why nothing moves. */
export const waits = channel('layerloom.hub.waits');

/** Shorter waits are not published. */
export const leastToldMs = 3000;
