import { checkInterrupt } from '../../core/base/errors/errors.js';
import { acquire, type ClaimFile, examine } from './claims/claim-file.js';
import { clockAt } from './claims/clock.js';
import { type ExperimentFound, forget, readExperiments } from './experiments.js';
import type { StorePaths } from './files/paths.js';
import { readEntry, type StoreEntry, storedKeys } from './files/record.js';
import { namesAside, putBack, removeAside, setAside } from './files/set-aside.js';
import { clearLeftovers, type Leftovers } from './leftovers.js';

/** Options of `ShardStore.gc`. */
export interface GcOptions {
  /** Keys of further shards to keep; linked and registered ones always stay. */
  keep?: Iterable<string> | AsyncIterable<string> | undefined;
  /** Only list what would be removed. */
  dryRun?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/** Shards that `ShardStore.gc` removed and kept. */
export interface Collection {
  readonly store: string;
  readonly dryRun: boolean;
  readonly removed: readonly { readonly key: string; readonly bytes: number }[];
  readonly bytesRemoved: number;
  readonly kept: number;
  readonly leftovers: Leftovers;
  readonly experiments: readonly ExperimentFound[];
}

/**
 * Number of shards removed in each round: small, because all are claimed meanwhile, but above 1, because each round
 * reads the experiments.
 */
const atOnce = 64;

/**
 * Removes leftovers of dead processes, and shards without another hard link, a registered experiment or a
 * live claim. Safe while other processes compute and link.
 *
 * @throws WRITE_FAILED, STORE_INVALID, INTERRUPTED
 */
export const collect = async (paths: StorePaths, options: GcOptions): Promise<Collection> => {
  const { dryRun = false, signal } = options;
  const leftovers = await clearLeftovers(paths, dryRun);
  const { needed, experiments } = await readExperiments(paths);
  const kept = new Set<string>();
  for await (const key of options.keep ?? []) kept.add(key);

  const keys = await storedKeys(paths);
  const unneeded: StoreEntry[] = [];
  for (const key of keys) {
    const entry = await readEntry(paths, key);
    if (!needed.has(key) && !kept.has(key) && (entry.file?.names ?? 1) === 1) unneeded.push(entry);
  }
  const removed: { key: string; bytes: number }[] = [];
  for (let first = 0; first < unneeded.length; first += atOnce) {
    checkInterrupt(signal);
    const some = unneeded.slice(first, first + atOnce);
    for (const { key, file } of dryRun ? await unclaimed(paths, some) : await remove(paths, some))
      removed.push({ key, bytes: file?.bytes ?? 0 });
  }
  for (const { path, state } of experiments) if (state === 'gone' && !dryRun) await forget(paths, path);
  return {
    store: paths.root,
    dryRun,
    removed,
    bytesRemoved: removed.reduce((total, { bytes }) => total + bytes, 0),
    kept: keys.length - removed.length,
    leftovers,
    experiments: experiments.map(({ directory, host, state }) => ({ directory, host, state })),
  };
};

const unclaimed = async (paths: StorePaths, entries: readonly StoreEntry[]): Promise<StoreEntry[]> => {
  const now = clockAt(paths.clock);
  const states = await Promise.all(entries.map(({ key }) => examine(paths.claim(key), now)));
  return entries.filter((_, index) => states[index]?.state !== 'live');
};

/** @returns removed entries; all other entries were claimed, linked or registered meanwhile */
const remove = async (paths: StorePaths, entries: readonly StoreEntry[]): Promise<StoreEntry[]> => {
  const now = clockAt(paths.clock);
  const open = new Map<StoreEntry, ClaimFile>();
  const removed: StoreEntry[] = [];
  try {
    for (const entry of entries) {
      const claim = await acquire(paths.claim(entry.key), now);
      if (claim === undefined) continue;
      open.set(entry, claim);
    }
    await setAside(paths, new Map([...open].map(([{ key }, { token }]) => [key, token])));
    // An experiment that registers from now on does not find the removed shards, and computes them again.
    const { needed } = await readExperiments(paths);
    for (const [entry, claim] of open) {
      const { key } = entry;
      if (needed.has(key) || (await namesAside(paths, key, claim.token)) > 1) continue;
      await removeAside(paths, key, claim.token);
      await claim.release();
      open.delete(entry);
      removed.push(entry);
    }
  } finally {
    await putAllBack(paths, open);
  }
  return removed;
};

/** Restores all shards, continuing after errors. @throws the first error */
const putAllBack = async (paths: StorePaths, open: ReadonlyMap<StoreEntry, ClaimFile>): Promise<void> => {
  let failure: { readonly error: unknown } | undefined;
  for (const [{ key }, claim] of open) {
    await putBack(paths, key, claim.token).catch((error: unknown) => {
      failure ??= { error };
    });
    await claim.release();
  }
  if (failure !== undefined) throw failure.error;
};
