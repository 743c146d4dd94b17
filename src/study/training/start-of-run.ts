import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { exists } from '../../core/base/files/exists.js';
import { namesIn } from '../../core/base/files/unless-missing.js';
import { readSmallFile } from '../../core/models/checkpoint/files/small-file.js';
import { jsonOrNone } from '../../core/texts/json.js';
import { type Claimant, isClaimant, lifeOf } from '../store/claims/claimant.js';
import { lockSeconds, runFiles, trainerFiles } from './run-state.js';

export interface RunningStart {
  readonly host: string;
  readonly pid: number;
  /** True if the script was killed but its process group still trains. */
  readonly isOrphan?: boolean;
  readonly since: string;
}

/** Reads a run's lock; undefined if nothing trains the run. */
export const runningStart = async (directory: string): Promise<RunningStart | undefined> => {
  const lock = join(directory, runFiles.lock);
  const [text, status] = await Promise.all([
    readSmallFile(lock).catch(() => undefined),
    stat(lock).catch(() => undefined),
  ]);
  if (text === undefined || status === undefined) return undefined;
  const [first = '', ...lines] = text.toString().split('\n');
  const held = jsonOrNone(first);
  const isFresh = Date.now() - status.mtimeMs <= lockSeconds.stale * 1000;
  // An empty lock is just being written, or was made while the disk was full.
  if (!isClaimant(held))
    return isFresh ? { host: '?', pid: 0, since: status.mtime.toISOString() } : undefined;
  const since = 'since' in held && typeof held.since === 'string' ? held.since : '?';
  const life = await lifeOf(held);
  if (life === 'alive' || (life === 'unknown' && isFresh)) return { host: held.host, pid: held.pid, since };
  if (life === 'unknown') return undefined;
  const group = lines.findLast((line) => line.startsWith('group '));
  const [, number, started = ''] = /^group (\d+) (.*)$/.exec(group ?? '') ?? [];
  const leader = { ...held, pid: Number(number ?? 0), started };
  return (await worksAsGroup(leader))
    ? { host: held.host, pid: leader.pid, isOrphan: true, since }
    : undefined;
};

/** True if the process group of a local process still has a process that is not a zombie. */
const worksAsGroup = async (leader: Claimant): Promise<boolean> => {
  if (!(leader.pid > 1)) return false;
  if ((await lifeOf(leader)) === 'alive') return true;
  // The leader's pid belongs to a new process, so the old group has ended.
  if (responds(leader.pid) && !(await isZombie(leader.pid))) return false;
  if (!responds(-leader.pid)) return false;
  if (process.platform !== 'linux') return true;
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  for (const pid of processes) {
    const [state, group] = await stateOf(Number(pid));
    if (group === leader.pid && state !== 'Z' && state !== 'X') return true;
  }
  return false;
};

const isZombie = async (pid: number): Promise<boolean> => (await stateOf(pid))[0] === 'Z';

const stateOf = async (pid: number): Promise<readonly [state: string, group: number]> => {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const [state = '', , group = ''] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return [state, Number(group)];
};

/** True if a process can be signalled; a negative number means a process group. Signal 0 is not delivered. */
const responds = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** How a run's script starts next: from a checkpoint, at the first step, or only with `--again`. */
export type NextStart = { readonly from: string } | 'first step' | 'again';

/** @throws READ_FAILED */
export const nextStart = async (
  directory: string,
  last: string,
  isWhole: (path: string) => Promise<boolean>,
): Promise<NextStart> => {
  const folder = join(directory, runFiles.checkpoints);
  const steps = (await namesIn(folder)).flatMap((name) => /^checkpoint-(\d+)$/.exec(name)?.[1] ?? []);
  let whole = 0;
  for (const step of steps.toSorted((a, b) => Number(b) - Number(a))) {
    const name = `checkpoint-${step}`;
    const path = join(folder, name);
    if (!((await hasLog(path)) && (await isWhole(path)))) continue;
    whole += 1;
    if (name === last || (await hasState(path))) return { from: name };
  }
  return whole === 0 ? 'first step' : 'again';
};

/** True if the trainer's log is complete. The trainer writes it last. */
const hasLog = async (path: string): Promise<boolean> => {
  const log = await readSmallFile(join(path, runFiles.log)).catch(() => undefined);
  return log?.toString().trimEnd().endsWith('}') === true;
};

/**
 * True if a trainer can resume from a complete checkpoint. Transformers' Trainer needs optimiser and
 * scheduler states, and would silently restart both.
 */
const hasState = async (path: string): Promise<boolean> => {
  const has = (name: string) => exists(join(path, name));
  if (!(await has(trainerFiles.mark))) return true;
  if (!(await has(trainerFiles.scheduler))) return false;
  for (const name of trainerFiles.optimisers) if (await has(name)) return true;
  return false;
};

/** Returns how a run's last start ended, in its script's words; undefined if killed or never started. */
export const endOfLastStart = async (directory: string): Promise<string | undefined> => {
  const lines = (await readSmallFile(join(directory, runFiles.starts)).catch(() => undefined))?.toString();
  const [, time, end] =
    /^(\S+) ((?:ended with|stopped by) .*)$/.exec(lines?.trimEnd().split('\n').at(-1) ?? '') ?? [];
  return end === undefined ? undefined : `${end}, at ${time}`;
};
