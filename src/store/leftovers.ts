import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { acquire, examine, staleAfterMs } from './claim-file.js';
import { clockAt, type StoreClock } from './clock.js';
import { absent, writing } from './failures.js';
import { parsePartialName, type StorePaths } from './paths.js';
import { putBack } from './set-aside.js';

// What processes leave that are killed.

export interface Leftovers {
  /** Claims of processes that died. */
  readonly claims: number;
  /** Shards that were never finished. */
  readonly partials: number;
  readonly bytes: number;
}

/** Removes the claims and partial files of dead processes; shards that one was removing are put back, to be judged again. */
export const clearLeftovers = async (paths: StorePaths, dryRun: boolean): Promise<Leftovers> => {
  const now = clockAt(paths.clock);
  const dead = await clearClaims(paths, now, dryRun);
  let [partials, bytes] = [0, 0];
  for (const name of (await readdir(paths.partials).catch(absent)) ?? []) {
    const parsed = parsePartialName(name);
    if (parsed === undefined) continue;
    const { key, token, isRemoved } = parsed;
    const path = join(paths.partials, name);
    const found = await stat(path).catch(absent);
    if (found === undefined) continue;
    const changed = Math.max(found.mtimeMs, found.ctimeMs);
    if (!dead.has(token) && (await isInUse(paths, key, token, changed, now))) continue;
    if (!isRemoved) {
      partials += 1;
      bytes += found.size;
    }
    if (dryRun) continue;
    if (!isRemoved) await writing(path, () => rm(path, { force: true }));
    else await putBack(paths, key, token);
  }
  return { claims: dead.size, partials, bytes };
};

/** Claims, and claims on their succession. */
const claimName = /^[0-9a-f]+(\.next)*$/;

/** @returns the tokens of dead claims; their names for those that say nothing */
const clearClaims = async (paths: StorePaths, now: StoreClock, dryRun: boolean): Promise<Set<string>> => {
  const dead = new Set<string>();
  for (const name of (await readdir(paths.claims).catch(absent)) ?? []) {
    const path = join(paths.claims, name);
    if (!claimName.test(name)) continue;
    const { state, claimant } = await examine(path, now);
    if (state !== 'dead') continue;
    dead.add(claimant?.token ?? name);
    if (!dryRun) await (await acquire(path, now))?.release();
  }
  return dead;
};

/** Of a live claim, or changed so lately that its claim may have been lost without its writer's knowing. */
const isInUse = async (
  paths: StorePaths,
  key: string,
  token: string,
  changed: number,
  now: StoreClock,
): Promise<boolean> => {
  const { state, claimant } = await examine(paths.claim(key), now);
  // A claim without text is of somebody, and a full disk's.
  const isTheirs = state === 'live' && (claimant === undefined || claimant.token === token);
  return isTheirs || (await now()) - changed <= staleAfterMs;
};
