import { type FileHandle, open, rm } from 'node:fs/promises';
import { version } from '../../../core/base/files/version.js';
import { writing } from '../../../core/base/files/writing.js';
import type { NonFiniteValue } from '../../../core/engine/compute/measures/non-finite.js';
import { makeDirectories, syncDirectory } from '../../../core/engine/output/durable.js';
import { absent } from '../files/failures.js';
import type { StorePaths } from '../files/paths.js';
import {
  moved,
  placeRecord,
  readEntry,
  type StoredShard,
  stampOf,
  wholeOf,
  writeRecord,
} from '../files/record.js';
import type { ClaimFile } from './claim-file.js';

/** Shard that was written to a claim's `partialPath`. */
export interface FinishedShard {
  readonly bytes: number;
  readonly sha256?: string | undefined;
  /** First NaN or infinity, as in `StoredShard`. */
  readonly nonFinite?: NonFiniteValue | null | undefined;
  /** Names of input models, for readers. */
  readonly inputs?: readonly string[] | undefined;
}

/** The exclusive right to compute a shard. */
export class Claim implements AsyncDisposable {
  readonly key: string;
  /** Path that only this process writes. */
  readonly partialPath: string;
  readonly #paths: StorePaths;
  readonly #file: ClaimFile;

  constructor(paths: StorePaths, key: string, file: ClaimFile) {
    this.key = key;
    this.partialPath = paths.partialShard(key, file.token);
    this.#paths = paths;
    this.#file = file;
  }

  /**
   * Publishes the shard: syncs the file, renames it into place, adds its record, and releases the claim. A
   * shard exists once it has a record, so a crash leaves it published or absent. If this claim went stale and
   * another process published first, its shard stays, because it may already be linked. On failure the claim
   * remains held.
   *
   * @param written the writer's open descriptor, if any; delayed write errors may appear only there
   * @returns undefined if another process took the claim over
   * @throws WRITE_FAILED
   */
  async publish(
    { bytes, sha256, nonFinite, inputs = [] }: FinishedShard,
    written?: FileHandle,
  ): Promise<StoredShard | undefined> {
    const { key } = this;
    const present = wholeOf(await readEntry(this.#paths, key));
    const record: StoredShard = present ?? {
      key,
      bytes,
      ...(sha256 === undefined ? {} : { sha256 }),
      ...(nonFinite === undefined ? {} : { nonFinite }),
      written: new Date().toISOString(),
      layerloom: version,
      inputs: [...inputs],
    };
    const placed = present ?? (await this.#putInPlace(record, written));
    if (present !== undefined) await written?.close();
    await this.release();
    return placed;
  }

  /**
   * @returns the record with the file's stamp; undefined if another process took over the claim and removed
   * the partial files
   */
  async #putInPlace(
    unstamped: StoredShard,
    written: FileHandle | undefined,
  ): Promise<StoredShard | undefined> {
    const { key } = unstamped;
    const directory = this.#paths.shardDirectory(key);
    const record = await writing(this.#paths.shard(key), async () => {
      const stamp = await this.#sync(unstamped.bytes, written);
      if (stamp === undefined) return undefined;
      const record = { ...unstamped, ...stamp };
      // Steps that need disk space come before the rename, so that `release` can undo them.
      await makeDirectories(directory);
      await writeRecord(this.#paths, this.#file.token, record);
      await syncDirectory(this.#paths.shards);
      if (!(await moved(this.partialPath, this.#paths.shard(key)))) return undefined;
      // The shard's name must be durable before its record.
      await syncDirectory(directory);
      return record;
    });
    const isPlaced = record !== undefined && (await placeRecord(this.#paths, this.#file.token, key));
    return isPlaced ? record : undefined;
  }

  /** Makes the partial file read-only and durable. @returns undefined if the file does not exist */
  async #sync(
    bytes: number,
    written: FileHandle | undefined,
  ): Promise<ReturnType<typeof stampOf> | undefined> {
    const file = written ?? (await open(this.partialPath, 'r+').catch(absent));
    if (file === undefined) return undefined;
    try {
      await file.chmod(0o444);
      await file.sync();
      const found = await file.stat({ bigint: true });
      if (found.size !== BigInt(bytes))
        throw new Error(`${found.size} bytes were written instead of ${bytes}`);
      return stampOf(found);
    } finally {
      await file.close();
    }
  }

  /** Removes unpublished files and the claim. May be called again. */
  async release(): Promise<void> {
    await rm(this.partialPath, { force: true }).catch(() => undefined);
    await rm(this.#paths.partialRecord(this.key, this.#file.token), { force: true }).catch(() => undefined);
    await this.#file.release();
  }

  /** Releases the claim. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}
