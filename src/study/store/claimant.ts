import { execFile } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { promisify } from 'node:util';
import { codeOf } from '../../core/base/errors.js';
import { isObject } from '../../core/models/checkpoint/json.js';

/** The identity of a process among all processes of all hosts that share the store. */
export interface Claimant {
  readonly host: string;
  /** The scope of process numbers: a host since its last boot, and a container. */
  readonly place: string;
  readonly pid: number;
  /** The process's start time, in the system's own format, since process numbers are reused. */
  readonly started: string;
}

/** The state of a process; `unknown` if only its heartbeat can tell. */
export type Life = 'alive' | 'dead' | 'unknown';

const quietly = (read: () => string): string => {
  try {
    return read().trim();
  } catch {
    // Only Linux has these files.
    return '';
  }
};

/**
 * Identifies the boot and the container too, since host names may repeat and containers have process numbers
 * of their own.
 */
const place = [
  hostname(),
  quietly(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')),
  quietly(() => readlinkSync('/proc/self/ns/pid')),
].join(' ');

let self: Promise<Claimant> | undefined;

/** Returns the identity of this process. */
export const ownClaimant = (): Promise<Claimant> => {
  self ??= startOf(process.pid).then((started) => ({
    host: hostname(),
    place,
    pid: process.pid,
    started: started ?? '',
  }));
  return self;
};

/**
 * Returns whether a process runs; `unknown` for processes of other places, and for those whose start time is
 * hidden from this user.
 */
export const lifeOf = async (claimant: Claimant): Promise<Life> => {
  if (claimant.place !== place) return 'unknown';
  const started = await startOf(claimant.pid);
  if (started === undefined) return exists(claimant.pid) ? 'unknown' : 'dead';
  return started === claimant.started ? 'alive' : 'dead';
};

/**
 * Returns a process's start time; undefined if there is no such process or it is hidden, empty for a zombie.
 */
const startOf = process.platform === 'linux' ? startOnLinux : startElsewhere;

/**
 * Reads fields 3 and 22 of proc_pid_stat(5): the state, and the start in clock ticks since boot. Field 2, the
 * name, may contain any text.
 */
async function startOnLinux(pid: number): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return ['Z', 'X'].includes(fields[0] ?? '') ? '' : fields[19];
}

async function startElsewhere(pid: number): Promise<string | undefined> {
  const found = await promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)]).catch(() => undefined);
  return found?.stdout.trim() || undefined;
}

/**
 * True if a process exists: signal 0 is not delivered, and an error other than ESRCH means that it is another
 * user's.
 */
const exists = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
};

export const isClaimant = (value: unknown): value is Claimant =>
  isObject(value) &&
  [value['host'], value['place'], value['started']].every((text) => typeof text === 'string') &&
  Number.isInteger(value['pid']) &&
  (value['pid'] as number) > 0;
