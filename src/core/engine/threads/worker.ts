import { createHash } from 'node:crypto';
import { fstatSync, readSync } from 'node:fs';
import { reasonOf } from '../../base/errors/errors.js';
import { readBlockNow } from '../../models/checkpoint/files/read-block.js';
import * as addon from '../../native/addon.js';
import { stateWords } from '../../native/hash.js';
import { control, type JobStatus } from '../../native/job.js';
import { sizeOf } from '../../native/measure.js';
import { sizeOfSolution } from '../../native/solve.js';
import type { Extent } from '../../tensor/extent.js';
import { digestFile } from './digest-file.js';
import type { Computed, FoundNonFinite, Message, Results, TaskName, Tasks } from './task.js';

// A synchronous native call. All threads have the memory `shared` in common.

type Work<N extends TaskName> = (task: Tasks[N], shared: BigInt64Array) => Results[N];

const run: Work<'run'> = (jobs, shared) => {
  const nonFinite: FoundNonFinite[] = [];
  for (const [index, job] of jobs.entries()) {
    const status = addon.run(job, shared);
    if (status.outcome !== 'done') return { ok: false, job: index, status };
    if (status.nonFinite.length > 0) nonFinite.push({ job: index, elements: status.nonFinite });
  }
  return { ok: true, nonFinite };
};

const computed = <Found>(found: Found, status: JobStatus): Computed<Found> =>
  status.outcome === 'done' ? { ok: true, found, nonFinite: status.nonFinite } : { ok: false, status };

/** Measures, and returns sums but no weights. */
const measure: Work<'measure'> = (measurement, shared) => {
  const { program, measures } = measurement;
  const found = measures.map((one) => new Float64Array(sizeOf(one, program)));
  return computed(found, addon.measure(measurement, found, shared));
};

/** Solves, and returns a few numbers. Matrices go to files. */
const solve: Work<'solve'> = (solver, shared) => {
  const found = new Float64Array(sizeOfSolution(solver));
  return computed(found, addon.solve(solver, found, shared));
};

const compareBytes = 1024 * 1024;

let compareBuffers: readonly [Buffer, Buffer] | undefined;

/** Compares ranges of two files. If a file ends early, its end is the difference. */
const compare: Work<'compare'> = ({ a, b, extents }, shared) => {
  compareBuffers ??= [Buffer.allocUnsafeSlow(compareBytes), Buffer.allocUnsafeSlow(compareBytes)];
  const [of, other] = compareBuffers;
  const firstDifference = ({ begin, end }: Extent): number | undefined => {
    for (let at = begin; at < end && Atomics.load(shared, control.cancel) === 0n; ) {
      const wanted = Math.min(compareBytes, end - at);
      const left = readBlockNow(a, of.subarray(0, wanted), at);
      const right = readBlockNow(b, other.subarray(0, wanted), at);
      if (left.length !== wanted || !left.equals(right)) {
        const both = Math.min(left.length, right.length);
        for (let index = 0; index < both; index += 1) if (left[index] !== right[index]) return at + index;
        return at + both;
      }
      at += wanted;
    }
    return undefined;
  };
  try {
    return { ok: true, differences: extents.map(firstDifference) };
  } catch (error) {
    return { ok: false, reason: reasonOf(error) };
  }
};

/** Bytes for some ten milliseconds of work, in whole SHA-256 blocks. */
const hashBytes = 16 * 1024 * 1024;

const hash: Work<'hash'> = (files, shared) => {
  try {
    const ranges = files.map(({ fd, begin }) => {
      const left = fstatSync(fd).size - begin;
      const length = Math.min(left, hashBytes);
      return { fd, start: 0, begin, length, last: length === left };
    });
    // Files for which the system reports size 0 are hashed to the end without native code.
    if (ranges.some(({ begin, length }) => begin + length === 0)) return { hashed: undefined };
    const states = new Uint32Array(files.length * stateWords);
    for (const [index, { state }] of files.entries()) states.set(state, index * stateWords);
    const status = addon.hash(ranges, states, shared);
    if (status?.outcome !== 'done') return { hashed: undefined };
    const hashed = ranges.map(({ fd, begin, length, last }, index) => {
      const state = states.slice(index * stateWords, (index + 1) * stateWords);
      return { next: { fd, begin: begin + length, state }, isLast: last };
    });
    return { hashed };
  } catch {
    // Checking files against records does not need the addon, so it may also fail to load.
    return { hashed: undefined };
  }
};

/** Kept for each thread: V8 would let buffers of many files accumulate. */
let checksumBuffer: Buffer | undefined;

/** Hashes a file, reading at explicit positions, because threads share its descriptor. */
const checksum: Work<'checksum'> = (fd, shared) => {
  const hash = createHash('sha256');
  checksumBuffer ??= Buffer.allocUnsafeSlow(1024 * 1024);
  const buffer = checksumBuffer;
  try {
    for (let position = 0; ; ) {
      if (Atomics.load(shared, control.cancel) !== 0n) return { ok: true, sha256: undefined };
      const bytes = readSync(fd, buffer, 0, buffer.length, position);
      if (bytes === 0) return { ok: true, sha256: hash.digest('hex') };
      hash.update(buffer.subarray(0, bytes));
      position += bytes;
    }
  } catch (error) {
    return { ok: false, reason: reasonOf(error) };
  }
};

const digest: Work<'digest'> = (file, shared) => digestFile(file, shared);

const work: { readonly [N in TaskName]: Work<N> } = {
  ...{ run, measure, solve, hash, checksum, digest, compare },
};

export const carryOut = <N extends TaskName>({ name, task, shared }: Message<N>): Results[N] =>
  work[name](task, new BigInt64Array(shared));
