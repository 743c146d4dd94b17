import type { Readable } from 'node:stream';

/** Lowest acceptable pace: `bytes` within `ms`. Slower connections are dropped. */
export interface LeastPace {
  readonly bytes: number;
  readonly ms: number;
  readonly error: () => Error;
}

const mostWaiting = 4 * 1024 * 1024;

/**
 * Yields a body in batches of newly arrived chunks. Throws an error only after all earlier bytes, which a
 * stream's own iterator would drop. Destroys the body if the reader stops early. The reader's own time does
 * not count as slow.
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
