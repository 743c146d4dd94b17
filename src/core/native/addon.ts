import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { LayerloomError } from '../base/errors.js';
import { elfProblem } from './elf.js';
import type { Factorisation } from './factorise.js';
import type { HashedRange } from './hash.js';
import type { Job, JobStatus } from './job.js';
import { loadFailure, type SoughtAddon } from './load-failure.js';
import type { Measurement } from './measure.js';
import { addonFile, currentHost, targetOf } from './prebuilt.js';
import type { Pursuit } from './pursue.js';
import type { Regression } from './regress.js';
import type { Spectral } from './spectral.js';

// The addon's only door. Native code is given open files and offsets, never bytes of weights, and answers
// with a status.

interface Addon {
  /** Those that this machine runs, best first. */
  readonly instructionSets: readonly string[];
  /** The one in use; null where LAYERLOOM_ISA names none of them. */
  readonly instructionSet: string | null;
  run(job: Job, control: BigInt64Array): JobStatus;
  measure(measurement: Measurement, out: readonly Float64Array[], control: BigInt64Array): JobStatus;
  factorise(what: Factorisation, out: Float64Array, control: BigInt64Array): JobStatus;
  regress(what: Regression, out: Float64Array, control: BigInt64Array): JobStatus;
  mergeSpectra(what: Spectral, control: BigInt64Array): JobStatus;
  pursue(what: Pursuit, out: Float64Array, control: BigInt64Array): JobStatus;
  /** Absent where the processor has no instructions for it. */
  hash?(ranges: readonly HashedRange[], states: Uint32Array, control: BigInt64Array): JobStatus;
  /** 0 when the file's lock was taken, else an errno. */
  lock(fd: number): number;
  /** False where the file system has no such step. */
  exchange(a: string, b: string): boolean;
}

/** LAYERLOOM_ADDON names another build of the addon, such as one with a sanitizer (CONTRIBUTING.md). */
export const findAddon = (other = process.env['LAYERLOOM_ADDON']): SoughtAddon => {
  if (other !== undefined && other !== '') return { file: resolve(other), target: undefined };
  const target = targetOf(currentHost());
  return { file: addonFile(target), target };
};

const load = (): Addon => {
  const sought = findAddon();
  try {
    const problem = process.platform === 'linux' ? elfProblem(sought.file, process.arch) : undefined;
    if (problem !== undefined) throw new Error(problem);
    return createRequire(import.meta.url)(sought.file) as Addon;
  } catch (cause) {
    throw loadFailure(sought, cause);
  }
};

let loaded: Addon | undefined;

/** @throws LayerloomError PLATFORM_UNSUPPORTED, ADDON_MISSING, ADDON_BROKEN, INSTRUCTION_SET */
const addon = (): Addon => {
  loaded ??= load();
  if (loaded.instructionSet === null)
    throw new LayerloomError('INSTRUCTION_SET', {
      requested: process.env['LAYERLOOM_ISA'] ?? '',
      available: loaded.instructionSets,
    });
  return loaded;
};

/**
 * Runs a job on the calling thread: the worker thread is the asynchrony. Stops at its next tile once
 * `control` says so.
 */
export const run = (job: Job, shared: BigInt64Array): JobStatus => addon().run(job, shared);

/**
 * Measures a block, on the calling thread.
 *
 * @param out filled with what is found: for each measure an array of `sizeOf` numbers
 */
export const measure = (
  measurement: Measurement,
  out: readonly Float64Array[],
  shared: BigInt64Array,
): JobStatus => addon().measure(measurement, out, shared);

/**
 * Factorises a matrix, on the calling thread.
 *
 * @param out filled with what is found: `factorNumbers`, then a singular value for each of `rank`
 */
export const factorise = (what: Factorisation, out: Float64Array, shared: BigInt64Array): JobStatus =>
  addon().factorise(what, out, shared);

/**
 * Merges matrices by a regression, on the calling thread.
 *
 * @param out filled with `regressionNumbers`
 */
export const regress = (what: Regression, out: Float64Array, shared: BigInt64Array): JobStatus =>
  addon().regress(what, out, shared);

/** Merges matrices by singular values, on the calling thread. */
export const mergeSpectra = (what: Spectral, shared: BigInt64Array): JobStatus =>
  addon().mergeSpectra(what, shared);

/**
 * Approximates rows, on the calling thread.
 *
 * @param out filled with what is found: `sizeOfPursuit` numbers
 */
export const pursue = (what: Pursuit, out: Float64Array, shared: BigInt64Array): JobStatus =>
  addon().pursue(what, out, shared);

/**
 * Hashes the next part of one file or of two, on the calling thread, by the processor's own instructions for SHA-256.
 *
 * @param states of each file the words after what is before the part; changed to those after it
 * @returns undefined where the processor has no such instructions
 */
export const hash = (
  ranges: readonly HashedRange[],
  states: Uint32Array,
  shared: BigInt64Array,
): JobStatus | undefined => addon().hash?.(ranges, states, shared);

/** The instruction set that kernels use on this machine, and those it could: LAYERLOOM_ISA chooses. */
export const instructionSets = (): { readonly chosen: string; readonly available: readonly string[] } => {
  const { instructionSet, instructionSets: available } = addon();
  return { chosen: instructionSet ?? '', available };
};

/** Takes an open file's exclusive lock, held until it is closed or the process ends, however it ends. */
export const tryLock = (fd: number): 'taken' | 'held elsewhere' | 'unsupported' => {
  const { EAGAIN, EWOULDBLOCK } = constants.errno;
  const error = addon().lock(fd);
  if (error === 0) return 'taken';
  return error === EAGAIN || error === EWOULDBLOCK ? 'held elsewhere' : 'unsupported';
};

/** Exchanges two directory entries in one step; false where the file system cannot. */
export const exchange = (a: string, b: string): boolean => addon().exchange(a, b);
