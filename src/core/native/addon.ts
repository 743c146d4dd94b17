import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { LayerloomError } from '../base/errors/errors.js';
import { elfProblem } from './elf.js';
import type { HashedRange } from './hash.js';
import type { Job, JobStatus } from './job.js';
import { loadFailure, type SoughtAddon } from './load-failure.js';
import type { Measurement } from './measure.js';
import { addonFile, currentHost, targetOf } from './prebuilt.js';
import type { Solver } from './solve.js';

// The addon's interface. Native code gets file descriptors and offsets, never weights, and returns a status.

interface Addon {
  /** Instruction sets of this machine, best first. */
  readonly instructionSets: readonly string[];
  /** The instruction set in use; null if LAYERLOOM_ISA names none that is available. */
  readonly instructionSet: string | null;
  /** Runs a job on the calling thread, up to the next tile after the cancel flag in shared memory is set. */
  run(job: Job, shared: BigInt64Array): JobStatus;
  /** @param out receives results: an array of `sizeOf` numbers for each measure */
  measure(measurement: Measurement, out: readonly Float64Array[], shared: BigInt64Array): JobStatus;
  /** @param out receives results: `sizeOfSolution` numbers */
  solve(solver: Solver, out: Float64Array, shared: BigInt64Array): JobStatus;
  /**
   * Hashes the next part of one or two files. Absent if the processor has no SHA-256 instructions.
   *
   * @param states each file's SHA-256 state, updated
   */
  hash?(ranges: readonly HashedRange[], states: Uint32Array, shared: BigInt64Array): JobStatus;
  /**
   * @param memory descriptor of `/proc/PID/mem`
   * @param parts pairs of a number of bytes and their address
   * @returns a number that jobs take as the descriptor of a file with these bytes
   */
  openRemote(memory: number, parts: Float64Array): number;
  /** Removes the file; jobs that read it keep it until they end. */
  closeRemote(file: number): void;
  lock(fd: number): number;
  exchange(a: string, b: string): boolean;
}

/**
 * Returns the addon's path. LAYERLOOM_ADDON sets another, such as a build with a sanitizer (CONTRIBUTING.md).
 */
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

const addon = (): Addon => {
  loaded ??= load();
  if (loaded.instructionSet === null)
    throw new LayerloomError('INSTRUCTION_SET', {
      requested: process.env['LAYERLOOM_ISA'] ?? '',
      available: loaded.instructionSets,
    });
  return loaded;
};

export const run: Addon['run'] = (...values) => addon().run(...values);
export const measure: Addon['measure'] = (...values) => addon().measure(...values);
export const solve: Addon['solve'] = (...values) => addon().solve(...values);
export const hash = (...values: Parameters<NonNullable<Addon['hash']>>): JobStatus | undefined =>
  addon().hash?.(...values);

/** Returns the instruction set in use (LAYERLOOM_ISA can choose it) and all available ones. */
export const instructionSets = (): { readonly chosen: string; readonly available: readonly string[] } => {
  const { instructionSet, instructionSets: available } = addon();
  return { chosen: instructionSet ?? '', available };
};

export const openRemote: Addon['openRemote'] = (...values) => addon().openRemote(...values);
export const closeRemote: Addon['closeRemote'] = (file) => addon().closeRemote(file);

/** Takes an exclusive lock, if free. It is held until the file is closed or the process ends. */
export const tryLock = (fd: number): 'taken' | 'held elsewhere' | 'unsupported' => {
  const { EAGAIN, EWOULDBLOCK } = constants.errno;
  const error = addon().lock(fd);
  if (error === 0) return 'taken';
  return error === EAGAIN || error === EWOULDBLOCK ? 'held elsewhere' : 'unsupported';
};

/** Exchanges two directory entries atomically; returns false if the file system cannot. */
export const exchange = (a: string, b: string): boolean => addon().exchange(a, b);
