import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { makeDirectories, syncDirectory } from '../engine/output/durable.js';
import { version } from '../version.js';
import type { ClaimFile } from './claim-file.js';
import { writing } from './failures.js';
import type { StorePaths } from './paths.js';
import { placeRecord, readEntry, type StoredShard, stampOf, wholeOf, writeRecord } from './record.js';

/** What is said of a shard that has been written to a claim's `partialPath`. */
export interface FinishedShard {
  readonly bytes: number;
  readonly sha256?: string | undefined;
  /** Names of the models it was made from. */
  readonly inputs?: readonly string[] | undefined;
}

/** The right to compute a shard, which no other process has meanwhile. */
export class Claim implements AsyncDisposable {
  readonly key: string;
  /** Where to write the shard: a file of this claim alone, not yet there. */
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
   * Syncs and closes the partial file, makes it read-only and puts it in its place, where it counts once its record is beside it; then releases the claim. A crash at
   * any moment leaves the shard published or absent. If another process published it meanwhile (after this one had been suspended for so long that it was
   * taken for dead), that one stays, since it may be linked already. When publishing fails, the claim is still held.
   *
   * @param written the descriptor that the shard was written through, if it is still open: a system may tell no other of a write that failed later
   * @throws LayerloomError WRITE_FAILED
   */
  async publish({ bytes, sha256, inputs = [] }: FinishedShard, written?: FileHandle): Promise<StoredShard> {
    const { key } = this;
    const present = wholeOf(await readEntry(this.#paths, key));
    const record: StoredShard = present ?? {
      key,
      bytes,
      ...(sha256 === undefined ? {} : { sha256 }),
      written: new Date().toISOString(),
      layerloom: version,
      inputs: [...inputs],
    };
    const placed = present ?? (await this.#putInPlace(record, written));
    if (present !== undefined) await written?.close();
    await this.release();
    return placed;
  }

  /** @returns the record with what tells the file from what it may be replaced by or changed into */
  async #putInPlace(unstamped: StoredShard, written: FileHandle | undefined): Promise<StoredShard> {
    const { key } = unstamped;
    const directory = this.#paths.shardDirectory(key);
    const record = await writing(this.#paths.shard(key), async () => {
      const record = { ...unstamped, ...(await this.#sync(unstamped.bytes, written)) };
      // All that needs room comes first: on a full disk nothing is in its place that `release` would not remove.
      await makeDirectories(directory);
      await writeRecord(this.#paths, this.#file.token, record);
      await syncDirectory(this.#paths.shards);
      await rename(this.partialPath, this.#paths.shard(key));
      // The shard's name is on the disk before that of its record.
      await syncDirectory(directory);
      return record;
    });
    await placeRecord(this.#paths, this.#file.token, key);
    return record;
  }

  /** Makes the partial file read-only and durable, and closes it. */
  async #sync(bytes: number, written: FileHandle | undefined): Promise<ReturnType<typeof stampOf>> {
    const file = written ?? (await open(this.partialPath, 'r+'));
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

  /** Removes what was written and not published, and lets others compute the shard. May be called more than once. */
  async release(): Promise<void> {
    await rm(this.partialPath, { force: true }).catch(() => undefined);
    await rm(this.#paths.partialRecord(this.key, this.#file.token), { force: true }).catch(() => undefined);
    await this.#file.release();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}
