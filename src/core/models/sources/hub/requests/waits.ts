import { channel } from 'node:diagnostics_channel';

/** A wait before a request is repeated. */
export interface Wait {
  readonly seconds: number;
  /** What the last attempt failed of. */
  readonly reason: string;
}

/** Waits of some seconds are told here, so that a program can tell its user why nothing moves. */
export const waits = channel('layerloom.hub.waits');

/** Shorter waits are over before they could be read of. */
export const leastToldMs = 3000;
