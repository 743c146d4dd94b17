import { createHash } from 'node:crypto';
import { readSync } from 'node:fs';
import { reasonOf } from '../../errors.js';
import { control, execute, measure, reduce, rowSenses } from '../../native/addon.js';
import { emptySums } from '../compute/sums.js';
import type {
  ChecksumResult,
  ChecksumTask,
  MeasureResult,
  MeasureTask,
  ReduceResult,
  ReduceTask,
  Task,
  TaskResult,
} from './task.js';

/** A worker thread's work: one synchronous native call after another. */
export default ({ jobs, shared }: Task): TaskResult => {
  const words = new BigInt64Array(shared);
  for (const [index, job] of jobs.entries()) {
    const status = execute(job, words);
    if (status.outcome !== 'done') return { ok: false, job: index, status };
  }
  return { ok: true };
};

/** Sums go back as they are: they are vectors of rows, not weights. */
export const reduceRows = ({ reduction, pairs, shared }: ReduceTask): ReduceResult => {
  const rows = reduction.sense === rowSenses.input ? reduction.columns : reduction.rows;
  const sums = emptySums(reduction.sources.length - 1, rows, pairs);
  const status = reduce(reduction, sums, new BigInt64Array(shared));
  return status.outcome === 'done' ? { ok: true, sums } : { ok: false, status };
};

export const measureBlock = ({ measurement, size, counts, shared }: MeasureTask): MeasureResult => {
  const out = new Float64Array(size);
  const status = measure(measurement, out, counts, new BigInt64Array(shared));
  return status.outcome === 'done' ? { ok: true, out } : { ok: false, status };
};

/** Of this thread: V8 would let buffers of many files gather before it freed them. */
let checksumBuffer: Buffer | undefined;

/** Through one buffer outside V8's heap, and at positions of its own: the descriptor is shared. */
export const checksum = ({ fd, shared }: ChecksumTask): ChecksumResult => {
  const words = new BigInt64Array(shared);
  const hash = createHash('sha256');
  checksumBuffer ??= Buffer.allocUnsafeSlow(1024 * 1024);
  const buffer = checksumBuffer;
  try {
    for (let position = 0; ; ) {
      if (Atomics.load(words, control.cancel) !== 0n) return { ok: true, sha256: undefined };
      const bytes = readSync(fd, buffer, 0, buffer.length, position);
      if (bytes === 0) return { ok: true, sha256: hash.digest('hex') };
      hash.update(buffer.subarray(0, bytes));
      position += bytes;
    }
  } catch (error) {
    return { ok: false, reason: reasonOf(error) };
  }
};
