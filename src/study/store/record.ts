import type { BigIntStats } from 'node:fs';
import { readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { NonFiniteValue } from '../../core/engine/compute/non-finite.js';
import { syncDirectory, writeDurably } from '../../core/engine/output/durable.js';
import { isObject } from '../../core/models/checkpoint/json.js';
import { readSmallFile } from '../../core/models/checkpoint/small-file.js';
import { jsonOrNone } from '../../core/texts/json.js';
import { absent, writing } from './failures.js';
import { keyInName, type StorePaths } from './paths.js';

/** The record of a shard: the contents of `KEY.json`. */
export interface StoredShard {
  readonly key: string;
  readonly bytes: number;
  /** In hexadecimal. A shard that was published without it gets it in its first verification. */
  readonly sha256?: string;
  /** Time of publishing (ISO 8601); `layerloom` is the version that published it. */
  readonly written: string;
  readonly layerloom: string;
  /**
   * The first value that is no finite number, of those that the shard was computed of or its own; null where there is
   * none. A shard of an earlier version, which has no such field, gets it when a merge first needs it.
   */
  readonly nonFinite?: NonFiniteValue | null;
  /** Names of the models that it was made from, for people; the key identifies them. */
  readonly inputs: readonly string[];
  /**
   * The file's modification time in nanoseconds and its inode, in decimal. If they differ, the bytes are
   * verified before the next use.
   */
  readonly mtimeNs?: string;
  readonly inode?: string;
  /**
   * Time at which the shard was found to be damaged. It then counts as absent, and is replaced when it is
   * needed again.
   */
  readonly damaged?: string;
}

/** Reads a record; undefined if it is absent or invalid, so that the shard is computed again. */
export const readRecord = async (paths: StorePaths, key: string): Promise<StoredShard | undefined> => {
  const text = (await readSmallFile(paths.record(key)).catch(absent))?.toString();
  const value = jsonOrNone(text ?? '');
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
  ) &&
  (value['nonFinite'] === undefined || value['nonFinite'] === null || isNonFiniteValue(value['nonFinite']));

const isNonFiniteValue = (value: unknown): value is NonFiniteValue =>
  isObject(value) &&
  typeof value['tensor'] === 'string' &&
  typeof value['is'] === 'string' &&
  ['string', 'undefined'].includes(typeof value['file']) &&
  Array.isArray(value['index']) &&
  value['index'].every(Number.isSafeInteger);

/** Writes a record under a temporary name. @param token the token of the claim on the shard */
export const writeRecord = (paths: StorePaths, token: string, record: StoredShard): Promise<void> =>
  writing(paths.record(record.key), () =>
    writeDurably(paths.partialRecord(record.key, token), `${JSON.stringify(record, null, 2)}\n`),
  );

/** Renames a file. @returns false if there is none */
export const moved = (from: string, to: string): Promise<boolean> =>
  rename(from, to).then(
    () => true,
    (error: unknown) => absent(error) ?? false,
  );

/**
 * Renames a written record into place, durably.
 *
 * @returns false if it is gone, since another process has taken the claim over
 */
export const placeRecord = (paths: StorePaths, token: string, key: string): Promise<boolean> =>
  writing(paths.record(key), async () => {
    if (!(await moved(paths.partialRecord(key, token), paths.record(key)))) return false;
    await syncDirectory(paths.shardDirectory(key));
    return true;
  });

/** The record and the file of a key. A process that died between writing the two leaves only one of them. */
export interface StoreEntry {
  readonly key: string;
  readonly record: StoredShard | undefined;
  readonly file: FoundFile | undefined;
}

interface FoundFile extends Stamp {
  readonly bytes: number;
  readonly names: number;
}

/** The properties of a file that change when it is written or replaced. */
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

/**
 * Returns the record of a shard that is complete, not marked as damaged, and unchanged since it was
 * published; undefined otherwise.
 */
export const wholeOf = (entry: StoreEntry): StoredShard | undefined =>
  hasItsSize(entry) && isUntouched(entry) ? entry.record : undefined;

/**
 * True if a published shard's file has been written or replaced since, though its size is right and it is not
 * marked as damaged: through a hard link, or because the whole store was copied.
 */
export const isInDoubt = (entry: StoreEntry): boolean => hasItsSize(entry) && !isUntouched(entry);

/** The record of a published shard whose file has its size, though its bytes may be in doubt; undefined if there is none. */
export const sizedOf = (entry: StoreEntry): StoredShard | undefined =>
  hasItsSize(entry) ? entry.record : undefined;

const hasItsSize = ({ record, file }: StoreEntry): boolean =>
  record !== undefined && record.damaged === undefined && file?.bytes === record.bytes;

/** True if the file has the record's stamp, or the record has none, as those of earlier versions. */
const isUntouched = ({ record, file }: StoreEntry): boolean =>
  (record?.mtimeNs === undefined || record.mtimeNs === file?.mtimeNs) &&
  (record?.inode === undefined || record.inode === file?.inode);

/** Returns every key that has a record or a file, sorted. */
export const storedKeys = async (paths: StorePaths): Promise<string[]> => {
  const keys = new Set<string>();
  for (const directory of (await readdir(paths.shards).catch(absent)) ?? [])
    for (const name of (await readdir(join(paths.shards, directory)).catch(absent)) ?? []) {
      const key = keyInName(name);
      if (key?.startsWith(directory)) keys.add(key);
    }
  return [...keys].sort();
};
