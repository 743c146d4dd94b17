import type { Readable } from 'node:stream';

/** A connection that brings fewer bytes in so many milliseconds is given up: at a byte now and then a file takes days. */
export interface LeastPace {
  readonly bytes: number;
  readonly ms: number;
  /** What is thrown then. */
  readonly error: () => Error;
}

/** Bytes that wait for their reader before the connection is paused. */
const mostWaiting = 4 * 1024 * 1024;

/**
 * Reads a body in batches of what has come since the last one. An error is thrown only after all bytes that
 * came before it: a stream's own iterator drops them, and they would be fetched again. The body is destroyed
 * where the reader stops early. Time in which the connection was paused for the reader does not count as slow.
 */
export async function* batches(body: Readable, least: LeastPace): AsyncGenerator<Buffer[]> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  let end: { error?: unknown } | undefined;
  let wake = (): void => {};
  let came = 0;
  let wasPaused = false;
  const timer = setInterval(() => {
    if (came < least.bytes && !wasPaused) finish({ error: least.error() });
    came = 0;
    wasPaused = body.isPaused();
  }, least.ms);
  const finish = (state: { error?: unknown }) => {
    end ??= state;
    wake();
  };
  body.on('data', (chunk: Buffer) => {
    waiting.push(chunk);
    bytes += chunk.length;
    came += chunk.length;
    if (bytes > mostWaiting) {
      body.pause();
      wasPaused = true;
    }
    wake();
  });
  body.on('end', () => finish({}));
  body.on('error', (error) => finish({ error }));
  body.on('close', () => finish({ error: new Error('the connection was closed') }));
  try {
    for (;;) {
      if (waiting.length === 0 && end === undefined)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      if (waiting.length > 0) {
        const batch = waiting;
        waiting = [];
        bytes = 0;
        body.resume();
        yield batch;
      } else if (end !== undefined) {
        if ('error' in end) throw end.error;
        return;
      }
    }
  } finally {
    clearInterval(timer);
    body.destroy();
  }
}
