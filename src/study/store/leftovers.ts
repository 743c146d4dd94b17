import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { writing } from '../../core/base/files/writing.js';
import { acquire, examine, staleAfterMs } from './claims/claim-file.js';
import { clockAt, type StoreClock } from './claims/clock.js';
import { clearPartialRegistrations } from './experiments.js';
import { absent } from './files/failures.js';
import { parsePartialName, type StorePaths } from './files/paths.js';
import { putBack } from './files/set-aside.js';

/** Files of processes that ended before publishing a shard. */
export interface Leftovers {
  readonly claims: number;
  readonly partials: number;
  readonly bytes: number;
}

/** Restores shards that dead processes had set aside, so that `gc` decides again. Removes other leftovers. */
export const clearLeftovers = async (paths: StorePaths, dryRun: boolean): Promise<Leftovers> => {
  const now = clockAt(paths.clock);
  const claims = await deadClaims(paths, now);
  const dead = new Set(claims.values());
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
  if (!dryRun) await clearPartialMarkers(paths, (await now()) - staleAfterMs);
  if (!dryRun) await clearPartialRegistrations(paths, (await now()) - staleAfterMs);
  // Removes claims last: if this run is killed, they show the next run which files are dead.
  if (!dryRun) for (const path of claims.keys()) await (await acquire(path, now))?.release();
  return { claims: dead.size, partials, bytes };
};

const clearPartialMarkers = async (paths: StorePaths, since: number): Promise<void> => {
  for (const name of await readdir(paths.root)) {
    const path = join(paths.root, name);
    if (!partialMarker.test(name) || ((await stat(path).catch(absent))?.mtimeMs ?? since) >= since) continue;
    await writing(path, () => rm(path, { force: true }));
  }
};

const partialMarker = /^layerloom-store\.json\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Matches names of claims, and of the `.next` claims that replace dead ones. */
const claimName = /^[0-9a-f]{16,128}(\.next)*$/;

/** Returns dead claims by path. The value is the claim's token, or the claim's name if it has no text. */
const deadClaims = async (paths: StorePaths, now: StoreClock): Promise<ReadonlyMap<string, string>> => {
  const dead = new Map<string, string>();
  for (const name of (await readdir(paths.claims).catch(absent)) ?? []) {
    if (!claimName.test(name)) continue;
    const path = join(paths.claims, name);
    const { state, claimant } = await examine(path, now);
    if (state === 'dead') dead.set(path, claimant?.token ?? name);
  }
  return dead;
};

/** True if the claim is live, or the file is so new that its writer may not know that it lost the claim. */
const isInUse = async (
  paths: StorePaths,
  key: string,
  token: string,
  changed: number,
  now: StoreClock,
): Promise<boolean> => {
  const { state, claimant } = await examine(paths.claim(key), now);
  // A live claim without text (the disk was full) may own any file.
  const isTheirs = state === 'live' && (claimant === undefined || claimant.token === token);
  return isTheirs || (await now()) - changed <= staleAfterMs;
};
