import { execFile } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { promisify } from 'node:util';
import { isObject } from '../checkpoint/json.js';
import { codeOf } from './failures.js';

/** A process, told apart from every other one of any host that shares the store. */
export interface Claimant {
  readonly host: string;
  /** Within it process numbers mean the same: the host since it was started, and the container. */
  readonly place: string;
  readonly pid: number;
  /** When the process was started, in the system's own words: a number is given again to another process. */
  readonly started: string;
}

/** `unknown` where only a heartbeat can tell. */
export type Life = 'alive' | 'dead' | 'unknown';

const quietly = (read: () => string): string => {
  try {
    return read().trim();
  } catch {
    // Only Linux has these files.
    return '';
  }
};

/** Two hosts of one name, and two containers of one host, are different places. */
const place = [
  hostname(),
  quietly(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')),
  quietly(() => readlinkSync('/proc/self/ns/pid')),
].join(' ');

let self: Promise<Claimant> | undefined;

/** This process. */
export const ownClaimant = (): Promise<Claimant> => {
  self ??= startOf(process.pid).then((started) => ({
    host: hostname(),
    place,
    pid: process.pid,
    started: started ?? '',
  }));
  return self;
};

/** Whether the process that claimed still runs. Of another place nothing can be said, nor of a process whose start is hidden from us. */
export const lifeOf = async (claimant: Claimant): Promise<Life> => {
  if (claimant.place !== place) return 'unknown';
  const started = await startOf(claimant.pid);
  if (started === undefined) return exists(claimant.pid) ? 'unknown' : 'dead';
  return started === claimant.started ? 'alive' : 'dead';
};

/** Undefined where there is no such process, or it is hidden; empty for one that has ended and was not yet waited for. */
const startOf = process.platform === 'linux' ? startOnLinux : startElsewhere;

/** Fields 3 and 22 of proc_pid_stat(5): state, and clock ticks since the system was started. The name before them may hold anything. */
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

/** Signal 0 is sent to nobody; a process of another user refuses it. */
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
