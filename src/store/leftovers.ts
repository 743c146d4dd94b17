import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { acquire, examine, staleAfterMs } from './claim-file.js';
import { clockAt, type StoreClock } from './clock.js';
import { absent, writing } from './failures.js';
import { parsePartialName, type StorePaths } from './paths.js';
import { putBack } from './set-aside.js';

// Removal of the files that killed processes leave.

export interface Leftovers {
  /** Claims of dead processes. */
  readonly claims: number;
  /** Files of shards that were not finished. */
  readonly partials: number;
  readonly bytes: number;
}

/**
 * Removes the claims and partial files of dead processes. Shards that one of them had set aside are put back,
 * for `gc` to decide again.
 */
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

/** Matches the names of claims, and of the claims `.next` for taking them over. */
const claimName = /^[0-9a-f]+(\.next)*$/;

/** @returns the tokens of dead claims, or the name of a dead claim without text */
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

/**
 * True for a partial file of a live claim, or one changed so recently that its writer may not know yet that
 * its claim was taken over.
 */
const isInUse = async (
  paths: StorePaths,
  key: string,
  token: string,
  changed: number,
  now: StoreClock,
): Promise<boolean> => {
  const { state, claimant } = await examine(paths.claim(key), now);
  // A live claim without text (on a full disk) may be that of any file.
  const isTheirs = state === 'live' && (claimant === undefined || claimant.token === token);
  return isTheirs || (await now()) - changed <= staleAfterMs;
};
