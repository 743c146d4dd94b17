import { constants, type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LayerloomError, reasonOf } from '../errors.js';
import { type Extent, type Extents, Journal } from './journal.js';
import type { ShardWork } from './schedule.js';
import { headerOf } from './slices.js';
import type { Staging } from './staging.js';

/** Written bytes of a shard that may be missing from the journal: what a crash can cost, beside the stretches under way. */
const unrecordedBytes = 256 * 1024 * 1024;

interface OpenShard {
  readonly name: string;
  readonly file: FileHandle;
  /** Done and not yet in the journal. */
  unrecorded: Extent[];
}

/** The staged shards: opened at their full size when first written, synced and closed when done. */
export class ShardFiles {
  readonly #directory: string;
  /** Shards that an earlier run began. */
  readonly #done: Extents;
  readonly #journal: Journal;
  readonly #open = new Map<ShardWork, Promise<OpenShard>>();
  /** Syncs, one behind the other, while threads go on writing. */
  #queue: Promise<void> = Promise.resolve();
  #failure: LayerloomError | undefined;

  private constructor({ checkpoint, done }: Staging, journal: Journal) {
    this.#directory = checkpoint;
    this.#done = done;
    this.#journal = journal;
  }

  static async open(staging: Staging): Promise<ShardFiles> {
    return new ShardFiles(staging, await Journal.open(staging.journal));
  }

  /** A descriptor to write `work` to. @throws LayerloomError WRITE_FAILED, also for a sync that failed since the last call */
  async fdOf(work: ShardWork): Promise<number> {
    if (this.#failure !== undefined) throw this.#failure;
    const opening = this.#open.get(work) ?? this.#create(work);
    this.#open.set(work, opening);
    return (await opening).file.fd;
  }

  /** Notes that an extent of an open shard is written; the last one has it synced and closed. */
  async done(work: ShardWork, extent: Extent): Promise<void> {
    const shard = await this.#open.get(work);
    if (shard === undefined) throw new Error(`${work.shard.file} is not open`);
    shard.unrecorded.push(extent);
    work.outstanding -= 1;
    if (work.outstanding === 0) this.#finish(work, shard);
    else if (shard.unrecorded.reduce((total, { begin, end }) => total + end - begin, 0) >= unrecordedBytes)
      this.#enqueue(shard, () => this.#record(shard));
  }

  /** Creates a shard that has no bytes to write behind its header. */
  async finishEmpty(work: ShardWork): Promise<void> {
    await this.fdOf(work);
    const shard = await this.#open.get(work);
    if (shard !== undefined) this.#finish(work, shard);
  }

  /** Waits for every sync; shards still open, of a merge that was stopped, are recorded as far as they are written. */
  async close(): Promise<void> {
    await this.#queue;
    for (const opening of this.#open.values()) {
      const shard = await opening.catch(() => undefined);
      if (shard === undefined) continue;
      if (this.#failure === undefined) this.#enqueue(shard, () => this.#record(shard));
      await this.#queue;
      await shard.file.close();
    }
    await this.#journal.close();
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #create(work: ShardWork): Promise<OpenShard> {
    const { file: name, bytes } = work.shard;
    try {
      const file = await this.#openFile(name);
      await file.truncate(bytes);
      const header = headerOf(work.shard);
      await file.write(header, 0, header.length, 0);
      return { name, file, unrecorded: [] };
    } catch (cause) {
      throw this.#failed(name, cause);
    }
  }

  /**
   * A file that is this run's alone to write. One that an earlier run journalled it also wrote; anything else of that name may be a link to
   * an input, and goes.
   */
  async #openFile(name: string): Promise<FileHandle> {
    const path = join(this.#directory, name);
    if (this.#done.has(name)) return await open(path, constants.O_RDWR | constants.O_NOFOLLOW);
    await rm(path, { force: true });
    return await open(path, 'wx+');
  }

  #finish(work: ShardWork, shard: OpenShard): void {
    this.#open.delete(work);
    this.#enqueue(shard, async () => {
      await shard.file.sync();
      await this.#record(shard);
      await shard.file.close();
    });
  }

  async #record(shard: OpenShard): Promise<void> {
    const extents = shard.unrecorded;
    shard.unrecorded = [];
    if (extents.length > 0) await this.#journal.record(shard, extents);
  }

  #enqueue({ name }: OpenShard, action: () => Promise<void>): void {
    this.#queue = this.#queue.then(action).catch((cause: unknown) => {
      this.#failure ??= this.#failed(name, cause);
    });
  }

  #failed(name: string, cause: unknown): LayerloomError {
    return new LayerloomError(
      'WRITE_FAILED',
      { file: join(this.#directory, name), reason: reasonOf(cause) },
      { cause },
    );
  }
}
