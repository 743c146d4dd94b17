import { channel } from 'node:diagnostics_channel';

export interface Wait {
  readonly seconds: number;
  readonly reason: string;
}

/** Publishes long waits, so that programs can show why nothing moves. */
export const waits = channel('layerloom.hub.waits');

export const leastToldMs = 3000;
