import type { Readable } from 'node:stream';

/** Bytes that wait for their reader before the connection is paused. */
const mostWaiting = 4 * 1024 * 1024;

/**
 * Reads a body in batches of what has come since the last one. An error is thrown only after all bytes that
 * came before it: a stream's own iterator drops them, and they would be fetched again. The body is destroyed
 * where the reader stops early.
 */
export async function* batches(body: Readable): AsyncGenerator<Buffer[]> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  let end: { error?: unknown } | undefined;
  let wake = (): void => {};
  const finish = (state: { error?: unknown }) => {
    end ??= state;
    wake();
  };
  body.on('data', (chunk: Buffer) => {
    waiting.push(chunk);
    bytes += chunk.length;
    if (bytes > mostWaiting) body.pause();
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
    body.destroy();
  }
}
