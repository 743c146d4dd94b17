import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { control, execute } from '../native/addon.js';
import type { ChecksumTask, Task, TaskResult } from './task.js';

/** A worker thread's work: one synchronous native call after another. */
export default ({ jobs, shared }: Task): TaskResult => {
  const words = new BigInt64Array(shared);
  for (const [index, job] of jobs.entries()) {
    const status = execute(job, words);
    if (status.outcome !== 'done') return { ok: false, job: index, status };
  }
  return { ok: true };
};

/** The SHA-256 of a file in hexadecimal, through one buffer outside V8's heap; undefined when cancelled. */
export const checksum = ({ path, shared }: ChecksumTask): string | undefined => {
  const words = new BigInt64Array(shared);
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafeSlow(1024 * 1024);
  const fd = openSync(path, 'r');
  try {
    for (;;) {
      if (Atomics.load(words, control.cancel) !== 0n) return undefined;
      const bytes = readSync(fd, buffer);
      if (bytes === 0) return hash.digest('hex');
      hash.update(buffer.subarray(0, bytes));
    }
  } finally {
    closeSync(fd);
  }
};
