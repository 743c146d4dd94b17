import { rm } from 'node:fs/promises';
import { codeOf, reasonOf } from '../../core/base/errors/errors.js';
import type { NonFiniteValue } from '../../core/engine/compute/measures/non-finite.js';
import { withFile } from '../../core/engine/output/durable.js';
import { Run, type RunControls } from '../../core/engine/run.js';
import { acquire } from './claims/claim-file.js';
import { clockAt } from './claims/clock.js';
import type { StorePaths } from './files/paths.js';
import {
  placeRecord,
  readEntry,
  readRecord,
  type StoredShard,
  type StoreEntry,
  storedKeys,
  writeRecord,
} from './files/record.js';

/** Options of `ShardStore.verify`. Progress counts files, in phase `checksums`. */
export type VerifyOptions = RunControls;

/** Shard whose bytes have changed. */
export interface DamagedShard {
  readonly key: string;
  readonly file: string;
  /** Description of the damage, to follow the file's name. */
  readonly reason: string;
  /** Number of hard links outside the store, which are damaged too. */
  readonly links: number;
}

/** Result of `ShardStore.verify`. */
export interface Verification {
  readonly store: string;
  readonly shards: number;
  readonly bytes: number;
  readonly damaged: readonly DamagedShard[];
  /** Number of shards that got their first checksum now. Earlier damage to these cannot be detected. */
  readonly recorded: number;
  readonly warnings: readonly string[];
}

type Hash = (path: string) => Promise<string | undefined>;

interface Verdict {
  readonly bytes: number;
  readonly links: number;
  readonly reason?: string;
  readonly isFirst?: boolean;
  readonly record: StoredShard;
  readonly file: StoreEntry['file'];
}

const judge = async (paths: StorePaths, record: StoredShard, hash: Hash): Promise<Verdict> => {
  const { file } = await readEntry(paths, record.key);
  const seen = { bytes: 0, links: Math.max(0, (file?.names ?? 1) - 1), file };
  const { damaged = new Date().toISOString(), ...sound } = record;
  const verdict = (reason: string) => ({ ...seen, reason, record: { ...sound, damaged } });
  if (file === undefined) return verdict('is missing');
  if (file.bytes !== record.bytes) return verdict(`has ${file.bytes} bytes instead of ${record.bytes}`);
  let sha256: string | undefined;
  try {
    sha256 = await hash(paths.shard(record.key));
  } catch (error) {
    // Another process removed the file meanwhile, or `gc` set it aside.
    if (codeOf(error) === 'ENOENT') return await judge(paths, record, hash);
    const reason = `cannot be read (${reasonOf(error)})`;
    // A disk's read error counts as damage; other errors may concern only this process.
    return reason.endsWith('(EIO))') ? verdict(reason) : { ...seen, reason, record };
  }
  if (sha256 === undefined) return { ...seen, record };
  seen.bytes = file.bytes;
  if (record.sha256 !== undefined && sha256 !== record.sha256)
    return verdict(`has SHA-256 ${sha256.slice(0, 12)}… instead of ${record.sha256.slice(0, 12)}…`);
  const { mtimeNs, inode } = file;
  return { ...seen, isFirst: record.sha256 === undefined, record: { ...sound, sha256, mtimeNs, inode } };
};

export const noteNonFinite = async (
  paths: StorePaths,
  record: StoredShard,
  nonFinite: NonFiniteValue | null,
): Promise<void> => {
  // Another process may have recorded the same, or may be replacing the shard.
  const { file } = await readEntry(paths, record.key);
  await note(paths, record, file, { ...record, nonFinite });
};

/**
 * Records a verdict under a claim, so that no concurrent publication is overwritten.
 *
 * @returns false if the record or file has changed since, or another process took over the claim
 */
const note = async (
  paths: StorePaths,
  judged: StoredShard,
  file: StoreEntry['file'],
  found: StoredShard,
): Promise<boolean> => {
  const isCurrent = async () => {
    const now = await readEntry(paths, judged.key);
    const isSame = now.file?.inode === file?.inode && now.file?.mtimeNs === file?.mtimeNs;
    return isSame && JSON.stringify(now.record) === JSON.stringify(judged);
  };
  const claim = await acquire(paths.claim(judged.key), clockAt(paths.clock));
  // Without the claim, another process is replacing or removing the shard; if the file is missing, that
  // process has it.
  if (claim === undefined) return file !== undefined && (await isCurrent());
  try {
    if (!(await isCurrent())) return false;
    await writeRecord(paths, claim.token, found);
    return await placeRecord(paths, claim.token, found.key);
  } catch (error) {
    await rm(paths.partialRecord(judged.key, claim.token), { force: true }).catch(() => undefined);
    throw error;
  } finally {
    await claim.release();
  }
};

/**
 * Verifies a shard. A damaged shard is marked, and then counts as absent.
 *
 * @returns undefined if it has no record, or the record changed meanwhile
 */
export const verifyShard = async (
  paths: StorePaths,
  key: string,
  hash: Hash,
  warn: (warning: string) => void,
): Promise<Verdict | undefined> => {
  const record = await readRecord(paths, key);
  if (record === undefined) return undefined;
  const verdict = await judge(paths, record, hash);
  if (JSON.stringify(verdict.record) === JSON.stringify(record)) return verdict;
  const holds = await note(paths, record, verdict.file, verdict.record).catch((error: unknown) => {
    warn(`the result for ${paths.shard(key)} could not be recorded: ${reasonOf(error)}`);
    return true;
  });
  return holds ? verdict : undefined;
};

/**
 * Verifies all shards on all threads, with 1 MiB buffers.
 *
 * @throws INVALID_PARAMETER, INTERRUPTED
 */
export const verifyStore = async (paths: StorePaths, options: VerifyOptions): Promise<Verification> => {
  const keys = await storedKeys(paths);
  const damaged: DamagedShard[] = [];
  const warnings: string[] = [];
  let [shards, bytes, recorded, done] = [0, 0, 0, 0];

  await using run = new Run(options, false);
  const { pool } = run;
  const hash: Hash = (path) =>
    withFile(path, 'r', async ({ fd }) => {
      const result = await pool.checksum(fd);
      if (!result.ok) throw new Error(result.reason);
      return result.sha256;
    });
  const verifyNext = async (key: string) => {
    const verdict = await verifyShard(paths, key, hash, (warning) => warnings.push(warning));
    if (verdict === undefined) return;
    shards += 1;
    bytes += verdict.bytes;
    const { reason, links, isFirst } = verdict;
    if (isFirst) recorded += 1;
    if (reason !== undefined) damaged.push({ key, file: paths.shard(key), reason, links });
  };
  try {
    await pool.eachInLanes(keys, async (key) => {
      await verifyNext(key);
      done += 1;
      run.report({ phase: 'checksums', done, total: keys.length });
    });
  } catch (error) {
    throw run.reasonOf(error, {});
  }
  damaged.sort((a, b) => (a.key < b.key ? -1 : 1));
  return { store: paths.root, shards, bytes, damaged, recorded, warnings };
};
