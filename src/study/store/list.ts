import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { examine } from './claims/claim-file.js';
import type { Claimant } from './claims/claimant.js';
import { clockAt } from './claims/clock.js';
import { absent } from './files/failures.js';
import { isKey, type StorePaths } from './files/paths.js';
import { readEntry, type StoredShard, type StoreEntry, storedKeys } from './files/record.js';

export interface ListedShard extends StoredShard {
  readonly file: string;
  /** Number of hard links outside the store; symbolic links and copies cannot be counted. */
  readonly links: number;
  /** `incomplete`: the file is missing or has the wrong size. */
  readonly state: 'whole' | 'incomplete' | 'damaged';
}

/** Shard that a process is computing. */
export interface ListedClaim extends Pick<Claimant, 'host' | 'pid'> {
  readonly key: string;
  readonly since: string;
  readonly isDead: boolean;
}

/** Shards of a store, and shards being computed. */
export interface StoreListing {
  readonly store: string;
  readonly shards: readonly ListedShard[];
  readonly bytes: number;
  readonly claims: readonly ListedClaim[];
}

export const listStore = async (paths: StorePaths): Promise<StoreListing> => {
  const shards: ListedShard[] = [];
  let bytes = 0;
  for (const key of await storedKeys(paths)) {
    const entry = await readEntry(paths, key);
    bytes += entry.file?.bytes ?? 0;
    // A file without a record is not published; `gc` removes it.
    if (entry.record !== undefined)
      shards.push({
        ...entry.record,
        file: paths.shard(key),
        links: Math.max(0, (entry.file?.names ?? 1) - 1),
        state: stateOf(entry),
      });
  }
  return { store: paths.root, shards, bytes, claims: await listClaims(paths) };
};

const stateOf = ({ record, file }: StoreEntry): ListedShard['state'] => {
  if (record?.damaged !== undefined) return 'damaged';
  return file?.bytes === record?.bytes ? 'whole' : 'incomplete';
};

const listClaims = async (paths: StorePaths): Promise<ListedClaim[]> => {
  // Without write permission, the store's clock cannot be read, and claims of other hosts count as live.
  const now = () => clockAt(paths.clock)().catch(() => 0);
  const claims: ListedClaim[] = [];
  for (const key of ((await readdir(paths.claims).catch(absent)) ?? []).filter(isKey).sort()) {
    const { state, claimant } = await examine(join(paths.claims, key), now);
    if (state === 'gone' || claimant === undefined) continue;
    const { host, pid, since } = claimant;
    claims.push({ key, host, pid, since, isDead: state === 'dead' });
  }
  return claims;
};
