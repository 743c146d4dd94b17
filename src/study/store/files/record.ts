import type { BigIntStats } from 'node:fs';
import { readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { writing } from '../../../core/base/files/writing.js';
import type { NonFiniteValue } from '../../../core/engine/compute/measures/non-finite.js';
import { syncDirectory, writeDurably } from '../../../core/engine/output/durable.js';
import { isObject } from '../../../core/models/checkpoint/files/json.js';
import { readSmallFile } from '../../../core/models/checkpoint/files/small-file.js';
import { jsonOrNone } from '../../../core/texts/json.js';
import { absent } from './failures.js';
import { keyInName, type StorePaths } from './paths.js';

/** The record of a shard: the contents of `KEY.json`. */
export interface StoredShard {
  readonly key: string;
  readonly bytes: number;
  /** SHA-256 in hexadecimal; if absent, the first verification adds it. */
  readonly sha256?: string;
  /** Time of publishing (ISO 8601), and version of layerloom that published it. */
  readonly written: string;
  readonly layerloom: string;
  /** First NaN or infinity in inputs or values; null if all are finite; absent in earlier records. */
  readonly nonFinite?: NonFiniteValue | null;
  readonly inputs: readonly string[];
  /** File's mtime (ns) and inode, in decimal. If they change, the bytes are verified before use. */
  readonly mtimeNs?: string;
  readonly inode?: string;
  /** Time when damage was found. A damaged shard counts as absent. */
  readonly damaged?: string;
}

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

export const writeRecord = (paths: StorePaths, token: string, record: StoredShard): Promise<void> =>
  writing(paths.record(record.key), () =>
    writeDurably(paths.partialRecord(record.key, token), `${JSON.stringify(record, null, 2)}\n`),
  );

/** @returns false if `from` does not exist */
export const moved = (from: string, to: string): Promise<boolean> =>
  rename(from, to).then(
    () => true,
    (error: unknown) => absent(error) ?? false,
  );

/** @returns false if another process took over the claim and removed the record */
export const placeRecord = (paths: StorePaths, token: string, key: string): Promise<boolean> =>
  writing(paths.record(key), async () => {
    if (!(await moved(paths.partialRecord(key, token), paths.record(key)))) return false;
    await syncDirectory(paths.shardDirectory(key));
    return true;
  });

/** Shard's record and file. Either may be missing, because a process may have died between writing them. */
export interface StoreEntry {
  readonly key: string;
  readonly record: StoredShard | undefined;
  readonly file: FoundFile | undefined;
}

interface FoundFile extends Stamp {
  readonly bytes: number;
  readonly names: number;
}

/** Changes when the file is written or replaced. */
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

/** Returns the record of a shard that is complete, undamaged and unchanged since publishing. */
export const wholeOf = (entry: StoreEntry): StoredShard | undefined =>
  hasItsSize(entry) && isUntouched(entry) ? entry.record : undefined;

/** True if only the stamp is wrong: the file was written through a hard link, or copied with the store. */
export const isInDoubt = (entry: StoreEntry): boolean => hasItsSize(entry) && !isUntouched(entry);

/** Returns the record unless the size is wrong or damage is known. The bytes may need verification. */
export const sizedOf = (entry: StoreEntry): StoredShard | undefined =>
  hasItsSize(entry) ? entry.record : undefined;

const hasItsSize = ({ record, file }: StoreEntry): boolean =>
  record !== undefined && record.damaged === undefined && file?.bytes === record.bytes;

/** True if a file has the recorded mtime and inode. Records of earlier versions lack them. */
const isUntouched = ({ record, file }: StoreEntry): boolean =>
  (record?.mtimeNs === undefined || record.mtimeNs === file?.mtimeNs) &&
  (record?.inode === undefined || record.inode === file?.inode);

/** Keys with a record or a file, sorted. */
export const storedKeys = async (paths: StorePaths): Promise<string[]> => {
  const keys = new Set<string>();
  for (const directory of (await readdir(paths.shards).catch(absent)) ?? [])
    for (const name of (await readdir(join(paths.shards, directory)).catch(absent)) ?? []) {
      const key = keyInName(name);
      if (key?.startsWith(directory)) keys.add(key);
    }
  return [...keys].sort();
};
