import { type FileHandle, open } from 'node:fs/promises';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { writeFailed } from '../../core/base/files/writing.js';
import type { ShardSink } from '../../core/engine/compute/make-shards.js';
import { type NonFiniteValue, refusedNonFinite } from '../../core/engine/compute/measures/non-finite.js';
import type { InputFiles } from '../../core/engine/input-files.js';
import { beginShardFile } from '../../core/engine/output/shard-file.js';
import type { WorkerPool } from '../../core/engine/threads/pool.js';
import { sourcesOfTensors } from '../../core/plan/operands.js';
import type { Claim } from '../store/claims/claim.js';
import type { StoredShard } from '../store/files/record.js';
import type { ShardStore } from '../store/shard-store.js';
import type { DistinctShard } from './planning/groups.js';

export interface ShardEvents {
  /** Called when the shard is in the store, whoever made it. */
  onReady(shard: DistinctShard, madeHere: boolean): Promise<void>;
  /** Called for NaN or infinity that no merge accepts, or after two failures: with its group, then alone. */
  onFailed(shard: DistinctShard, error: unknown): Promise<void>;
}

interface Making {
  readonly claim: Claim;
  readonly file: FileHandle;
}

/** Writes shards to the store. Collects shards that other processes have claimed in `elsewhere`. */
export class StoreSink implements ShardSink<DistinctShard> {
  readonly #store: ShardStore;
  readonly #pool: WorkerPool;
  readonly #inputs: InputFiles;
  readonly #mayBeNonFinite: (key: string) => boolean;
  readonly #events: ShardEvents;
  readonly #making = new Map<DistinctShard, Making>();
  readonly elsewhere = new Set<DistinctShard>();
  /** Shards of a failed group, to be made one by one. */
  readonly again = new Set<DistinctShard>();
  readonly #tried = new Set<DistinctShard>();
  /** Bytes of headers, which workers do not count. */
  headerBytes = 0;

  /** @param mayBeNonFinite true for keys of shards that some merge accepts with NaN or infinity */
  constructor(
    store: ShardStore,
    pool: WorkerPool,
    inputs: InputFiles,
    mayBeNonFinite: (key: string) => boolean,
    events: ShardEvents,
  ) {
    this.#mayBeNonFinite = mayBeNonFinite;
    this.#store = store;
    this.#pool = pool;
    this.#inputs = inputs;
    this.#events = events;
  }

  async begin(shard: DistinctShard): Promise<number | undefined> {
    const claim = await this.#store.claim(shard.key);
    if (claim === undefined) {
      if ((await this.#store.lookup(shard.key)) === undefined) this.elsewhere.add(shard);
      else await this.#events.onReady(shard, false);
      return undefined;
    }
    try {
      const file = await create(claim.partialPath, shard);
      this.#making.set(shard, { claim, file });
      this.headerBytes += shard.tensors[0]?.begin ?? shard.bytes;
      return file.fd;
    } catch (error) {
      await claim.release();
      throw error;
    }
  }

  allowsNonFinite({ key }: DistinctShard): boolean {
    return this.#mayBeNonFinite(key);
  }

  async finish(shard: DistinctShard, nonFinite: NonFiniteValue | undefined): Promise<void> {
    const { claim, file } = this.#taken(shard);
    if (nonFinite !== undefined && !this.#mayBeNonFinite(shard.key)) {
      await this.#abandon({ claim, file });
      return await this.#events.onFailed(shard, refusedNonFinite(nonFinite));
    }
    const sources = sourcesOfTensors(shard.tensors);
    let published: StoredShard | undefined;
    try {
      // If an input changed since the run began, the key is wrong.
      await this.#inputs.verifySources(sources);
      // Hashes before publishing, while the file is in the page cache.
      const hashed = await this.#pool.checksum(file.fd, false);
      const sha256 = hashed.ok ? hashed.sha256 : undefined;
      const inputs = this.#inputs.namesOf(sources);
      published = await claim.publish(
        { bytes: shard.bytes, inputs, sha256, nonFinite: nonFinite ?? null },
        file,
      );
    } catch (error) {
      await file.close().catch(() => undefined);
      await claim.release();
      throw error;
    }
    // Another process took over the shard while this process was suspended.
    if (published === undefined) this.elsewhere.add(shard);
    else await this.#events.onReady(shard, true);
  }

  async fail(shard: DistinctShard, error: unknown): Promise<void> {
    await this.#abandon(this.#taken(shard));
    if (error instanceof LayerloomError && stopsAll.includes(error.code)) throw error;
    if (this.#pool.stopped) return;
    if (this.#tried.has(shard)) return await this.#events.onFailed(shard, error);
    this.#tried.add(shard);
    this.again.add(shard);
  }

  nameOf({ key }: DistinctShard): string {
    return this.#store.pathOf(key);
  }

  async close(): Promise<void> {
    for (const making of this.#making.values()) await this.#abandon(making);
    this.#making.clear();
  }

  #taken(shard: DistinctShard): Making {
    const making = this.#making.get(shard);
    if (making === undefined) throw new Error(`${shard.key} was not begun`);
    this.#making.delete(shard);
    return making;
  }

  async #abandon({ claim, file }: Making): Promise<void> {
    await file.close().catch(() => undefined);
    await claim.release();
  }
}

/** Codes of errors that all other shards would have too. */
const stopsAll: readonly string[] = ['WRITE_FAILED', 'DISK_SPACE', 'INTERRUPTED'];

const create = async (path: string, shard: DistinctShard): Promise<FileHandle> => {
  let file: FileHandle | undefined;
  try {
    file = await open(path, 'wx+');
    await beginShardFile(file, shard);
    return file;
  } catch (cause) {
    await file?.close();
    throw writeFailed(path, cause);
  }
};
