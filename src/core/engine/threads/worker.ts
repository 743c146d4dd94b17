import { createHash } from 'node:crypto';
import { fstatSync, readSync } from 'node:fs';
import { reasonOf } from '../../base/errors.js';
import * as addon from '../../native/addon.js';
import { factorNumbers } from '../../native/factorise.js';
import { stateWords } from '../../native/hash.js';
import { control } from '../../native/job.js';
import { sizeOf } from '../../native/measure.js';
import { sizeOfPursuit } from '../../native/pursue.js';
import { regressionNumbers } from '../../native/regress.js';
import type { Extent } from '../../tensor/extent.js';
import type {
  ChecksumResult,
  ChecksumTask,
  CompareResult,
  CompareTask,
  FactoriseResult,
  FactoriseTask,
  FoundNonFinite,
  HashResult,
  HashTask,
  MeasureResult,
  MeasureTask,
  PursueResult,
  PursueTask,
  RegressResult,
  RegressTask,
  RunResult,
  RunTask,
  SpectralResult,
  SpectralTask,
} from './task.js';

// A worker thread's work: synchronous native calls.

export const run = ({ jobs, shared }: RunTask): RunResult => {
  const words = new BigInt64Array(shared);
  const nonFinite: FoundNonFinite[] = [];
  for (const [index, job] of jobs.entries()) {
    const status = addon.run(job, words);
    if (status.outcome !== 'done') return { ok: false, job: index, status };
    if (status.nonFinite.length > 0) nonFinite.push({ job: index, elements: status.nonFinite });
  }
  return { ok: true, nonFinite };
};

/** Returns sums, never weights. */
export const measure = ({ measurement, shared }: MeasureTask): MeasureResult => {
  const { program, measures } = measurement;
  const found = measures.map((one) => new Float64Array(sizeOf(one, program)));
  const status = addon.measure(measurement, found, new BigInt64Array(shared));
  return status.outcome === 'done' ? { ok: true, found, nonFinite: status.nonFinite } : { ok: false, status };
};

/** Writes the factors to a file and returns a few numbers. */
export const factorise = ({ what, shared }: FactoriseTask): FactoriseResult => {
  const found = new Float64Array(factorNumbers.length + what.rank);
  const status = addon.factorise(what, found, new BigInt64Array(shared));
  return status.outcome === 'done' ? { ok: true, found } : { ok: false, status };
};

export const regress = ({ what, shared }: RegressTask): RegressResult => {
  const found = new Float64Array(regressionNumbers.length);
  const status = addon.regress(what, found, new BigInt64Array(shared));
  return status.outcome === 'done' ? { ok: true, found, nonFinite: status.nonFinite } : { ok: false, status };
};

export const mergeSpectra = ({ what, shared }: SpectralTask): SpectralResult => {
  const status = addon.mergeSpectra(what, new BigInt64Array(shared));
  return status.outcome === 'done' ? { ok: true, nonFinite: status.nonFinite } : { ok: false, status };
};

/** Returns the chosen rows and coefficients. */
export const pursue = ({ what, shared }: PursueTask): PursueResult => {
  const found = new Float64Array(sizeOfPursuit(what));
  const status = addon.pursue(what, found, new BigInt64Array(shared));
  return status.outcome === 'done' ? { ok: true, found } : { ok: false, status };
};

const compareBytes = 1024 * 1024;

/** Two for each thread, reused. */
let compareBuffers: readonly [Buffer, Buffer] | undefined;

/** If one file ends early, the difference is at its end. */
export const compare = ({ a, b, extents, shared }: CompareTask): CompareResult => {
  const words = new BigInt64Array(shared);
  compareBuffers ??= [Buffer.allocUnsafeSlow(compareBytes), Buffer.allocUnsafeSlow(compareBytes)];
  const [of, other] = compareBuffers;
  const firstDifference = ({ begin, end }: Extent): number | undefined => {
    for (let at = begin; at < end && Atomics.load(words, control.cancel) === 0n; ) {
      const wanted = Math.min(compareBytes, end - at);
      const [left, right] = [fill(a, of, wanted, at), fill(b, other, wanted, at)];
      if (left !== wanted || right !== wanted || of.compare(other, 0, wanted, 0, wanted) !== 0) {
        const both = Math.min(left, right);
        for (let index = 0; index < both; index += 1) if (of[index] !== other[index]) return at + index;
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

/** Reads until the buffer has `wanted` bytes or the file ends. */
const fill = (fd: number, buffer: Buffer, wanted: number, position: number): number => {
  let filled = 0;
  while (filled < wanted) {
    const bytes = readSync(fd, buffer, filled, wanted - filled, position + filled);
    if (bytes === 0) break;
    filled += bytes;
  }
  return filled;
};

/** Some ten milliseconds of work; whole SHA-256 blocks. */
const hashBytes = 16 * 1024 * 1024;

/** With the processor's SHA-256 instructions, if it has them. */
export const hash = ({ files, shared }: HashTask): HashResult => {
  try {
    const ranges = files.map(({ fd, begin }) => {
      const left = fstatSync(fd).size - begin;
      const length = Math.min(left, hashBytes);
      return { fd, begin, length, last: length === left };
    });
    // Some file systems report size 0; such files are read to the end instead.
    if (ranges.some(({ begin, length }) => begin + length === 0)) return { hashed: undefined };
    const states = new Uint32Array(files.length * stateWords);
    for (const [index, { state }] of files.entries()) states.set(state, index * stateWords);
    const status = addon.hash(ranges, states, new BigInt64Array(shared));
    if (status?.outcome !== 'done') return { hashed: undefined };
    const hashed = ranges.map(({ fd, begin, length, last }, index) => {
      const state = states.slice(index * stateWords, (index + 1) * stateWords);
      return { next: { fd, begin: begin + length, state }, isLast: last };
    });
    return { hashed };
  } catch {
    // Also returned if the addon cannot be loaded, because checking files against records does not need it.
    return { hashed: undefined };
  }
};

/** Reused by a thread: V8 would let buffers of many files accumulate. */
let checksumBuffer: Buffer | undefined;

/** Reads at explicit positions, since the descriptor is shared. */
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
