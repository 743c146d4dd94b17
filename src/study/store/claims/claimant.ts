import { execFile } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { promisify } from 'node:util';
import { codeOf } from '../../../core/base/errors/errors.js';
import { isObject } from '../../../core/models/checkpoint/files/json.js';

/** Process, identified among all hosts that use the store. */
export interface Claimant {
  readonly host: string;
  /** Scope of process ids: a boot of a host, or a container. */
  readonly place: string;
  readonly pid: number;
  /** Start time in the system's format; process ids are reused. */
  readonly started: string;
}

/** `unknown`: only the heartbeat can tell. */
export type Life = 'alive' | 'dead' | 'unknown';

const quietly = (read: () => string): string => {
  try {
    return read().trim();
  } catch {
    // Only Linux has these files.
    return '';
  }
};

/** Host names may repeat, and containers have their own process ids. */
const place = [
  hostname(),
  quietly(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')),
  quietly(() => readlinkSync('/proc/self/ns/pid')),
].join(' ');

let self: Promise<Claimant> | undefined;

export const ownClaimant = (): Promise<Claimant> => {
  self ??= startOf(process.pid).then((started) => ({
    host: hostname(),
    place,
    pid: process.pid,
    started: started ?? '',
  }));
  return self;
};

/** Returns whether a claimant lives. `unknown`: it runs elsewhere, or this user cannot see its start. */
export const lifeOf = async (claimant: Claimant): Promise<Life> => {
  if (claimant.place !== place) return 'unknown';
  const started = await startOf(claimant.pid);
  if (started === undefined) return exists(claimant.pid) ? 'unknown' : 'dead';
  return started === claimant.started ? 'alive' : 'dead';
};

/** Returns a process's start time; undefined if absent or hidden, empty for a zombie. */
const startOf = process.platform === 'linux' ? startOnLinux : startElsewhere;

/**
 * Reads fields 3 and 22 of proc_pid_stat(5): state, and start in clock ticks since boot. Field 2, the name,
 * may contain any characters.
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

/** True if a process exists. Any error other than ESRCH means that it belongs to another user. */
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
