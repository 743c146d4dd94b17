import type { BigIntStats } from 'node:fs';
import { readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject } from '../checkpoint/json.js';
import { readSmallFile } from '../checkpoint/small-file.js';
import { syncDirectory, writeDurably } from '../engine/output/durable.js';
import { absent, writing } from './failures.js';
import { keyInName, type StorePaths } from './paths.js';

/** What is known of a shard: `KEY.json` beside it. */
export interface StoredShard {
  readonly key: string;
  readonly bytes: number;
  /** In hexadecimal. One that was published without it has it from its first verification on. */
  readonly sha256?: string;
  /** When it was published, and by which version of layerloom. */
  readonly written: string;
  readonly layerloom: string;
  /** The names of the models that it was made from: for people, the key says it exactly. */
  readonly inputs: readonly string[];
  /** The file's modification time in nanoseconds and its inode, in decimal: where they differ, its bytes are compared before it is used again. */
  readonly mtimeNs?: string;
  readonly inode?: string;
  /** When it was found to be no more what was written. Such a shard counts as absent, and is replaced when it is next asked for. */
  readonly damaged?: string;
}

/** Undefined where there is none, or none that can be read: what is not known to be whole is computed again. */
export const readRecord = async (paths: StorePaths, key: string): Promise<StoredShard | undefined> => {
  const text = (await readSmallFile(paths.record(key)).catch(absent))?.toString();
  let value: unknown;
  try {
    value = JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
  return isRecord(value) && value.key === key ? value : undefined;
};

const isRecord = (value: unknown): value is StoredShard =>
  isObject(value) &&
  ['key', 'written', 'layerloom'].every((name) => typeof value[name] === 'string') &&
  Number.isSafeInteger(value['bytes']) &&
  Array.isArray(value['inputs']) &&
  value['inputs'].every((name) => typeof name === 'string') &&
  ['sha256', 'mtimeNs', 'inode', 'damaged'].every((name) =>
    ['string', 'undefined'].includes(typeof value[name]),
  );

/** Writes a record where it does not count yet. @param token that of the claim on the shard */
export const writeRecord = (paths: StorePaths, token: string, record: StoredShard): Promise<void> =>
  writing(paths.record(record.key), () =>
    writeDurably(paths.partialRecord(record.key, token), `${JSON.stringify(record, null, 2)}\n`),
  );

/** Puts a written record in its place in one step, durably. */
export const placeRecord = (paths: StorePaths, token: string, key: string): Promise<void> =>
  writing(paths.record(key), async () => {
    await rename(paths.partialRecord(key, token), paths.record(key));
    await syncDirectory(paths.shardDirectory(key));
  });

/** What stands under a key: a shard without a record, or a record without a shard, is of a process that died in between. */
export interface StoreEntry {
  readonly key: string;
  readonly record: StoredShard | undefined;
  readonly file: FoundFile | undefined;
}

interface FoundFile extends Stamp {
  readonly bytes: number;
  readonly names: number;
}

/** What changes when a file is written or replaced. */
type Stamp = Required<Pick<StoredShard, 'mtimeNs' | 'inode'>>;

export const stampOf = ({ mtimeNs, ino }: BigIntStats): Stamp => ({
  mtimeNs: String(mtimeNs),
  inode: String(ino),
});

export const readEntry = async (paths: StorePaths, key: string): Promise<StoreEntry> => {
  const [record, file] = await Promise.all([
    readRecord(paths, key),
    stat(paths.shard(key), { bigint: true }).catch(absent),
  ]);
  return {
    key,
    record,
    file: file && { bytes: Number(file.size), names: Number(file.nlink), ...stampOf(file) },
  };
};

/** A published shard's record, undefined for anything less. */
export const wholeOf = (entry: StoreEntry): StoredShard | undefined =>
  hasItsSize(entry) && isUntouched(entry) ? entry.record : undefined;

/** True if the shard has its size and is not marked, but its file has been written or replaced since: through a hard link, or with the store, by a copy. */
export const isInDoubt = (entry: StoreEntry): boolean => hasItsSize(entry) && !isUntouched(entry);

const hasItsSize = ({ record, file }: StoreEntry): boolean =>
  record !== undefined && record.damaged === undefined && file?.bytes === record.bytes;

/** A record without a stamp, of an earlier version, says nothing of it. */
const isUntouched = ({ record, file }: StoreEntry): boolean =>
  (record?.mtimeNs === undefined || record.mtimeNs === file?.mtimeNs) &&
  (record?.inode === undefined || record.inode === file?.inode);

/** Every key of which there is anything, in order. */
export const storedKeys = async (paths: StorePaths): Promise<string[]> => {
  const keys = new Set<string>();
  for (const directory of (await readdir(paths.shards).catch(absent)) ?? [])
    for (const name of (await readdir(join(paths.shards, directory)).catch(absent)) ?? []) {
      const key = keyInName(name);
      if (key?.startsWith(directory)) keys.add(key);
    }
  return [...keys].sort();
};
