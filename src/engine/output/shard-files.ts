import { constants, type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LayerloomError, reasonOf } from '../../errors.js';
import { sourcesOf } from '../../plan/plan.js';
import type { ShardWork } from '../compute/schedule.js';
import { headerOf } from '../compute/slices.js';
import type { InputFiles } from '../input-files.js';
import { type Extent, type Extents, Journal } from './journal.js';
import type { Staging } from './staging.js';

/** Written bytes of a shard that may be missing from the journal: what a crash can cost, beside the stretches under way. */
const unrecordedBytes = 256 * 1024 * 1024;

interface OpenShard {
  readonly name: string;
  readonly file: FileHandle;
  /** Paths of the input files that it is made of. */
  readonly madeOf: ReadonlySet<string>;
  /** Done and not yet in the journal. */
  unrecorded: Extent[];
}

/** The staged shards: opened at their full size when first written, synced and closed when done. */
export class ShardFiles {
  readonly #directory: string;
  /** Of shards that an earlier run began. */
  readonly #done: Extents;
  readonly #journal: Journal;
  readonly #inputs: InputFiles;
  readonly #open = new Map<ShardWork, Promise<OpenShard>>();
  /** Syncs, one behind the other, while threads go on writing. */
  #queue: Promise<void> = Promise.resolve();
  #failure: LayerloomError | undefined;

  private constructor({ checkpoint, done }: Staging, journal: Journal, inputs: InputFiles) {
    this.#directory = checkpoint;
    this.#done = done;
    this.#journal = journal;
    this.#inputs = inputs;
  }

  static async open(staging: Staging, inputs: InputFiles): Promise<ShardFiles> {
    return new ShardFiles(staging, await Journal.open(staging.journal, staging.done), inputs);
  }

  /** A descriptor to write `work` to. @throws LayerloomError WRITE_FAILED, also for a sync that failed since the last call */
  async fdOf(work: ShardWork): Promise<number> {
    return (await this.#opened(work)).file.fd;
  }

  /** Notes that an extent of an open shard is written; the last one has it synced and closed. */
  async done(work: ShardWork, { begin, end }: Extent): Promise<void> {
    const shard = await this.#opened(work);
    shard.unrecorded.push({ begin, end });
    work.outstanding -= 1;
    if (work.outstanding === 0) this.#finish(work, shard);
    else if (
      shard.unrecorded.reduce((total, extent) => total + extent.end - extent.begin, 0) >= unrecordedBytes
    )
      this.#record(shard);
  }

  /** Writes the header of a shard of which nothing is left to do, or had nothing behind it. */
  async finishUnwritten(work: ShardWork): Promise<void> {
    this.#finish(work, await this.#opened(work));
    await this.#queue;
  }

  /** Waits for every sync; shards still open, of a merge that was stopped, are recorded as far as they are written. */
  async close(): Promise<void> {
    for (const opening of this.#open.values()) {
      // One that could not be opened has already failed the merge.
      const shard = await opening.catch(() => undefined);
      if (shard !== undefined) this.#recordAndClose(shard);
    }
    await this.#queue;
    await this.#journal.close();
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #opened(work: ShardWork): Promise<OpenShard> {
    if (this.#failure !== undefined) throw this.#failure;
    const opening = this.#open.get(work) ?? this.#create(work);
    this.#open.set(work, opening);
    return await opening;
  }

  async #create(work: ShardWork): Promise<OpenShard> {
    const { file: name, bytes } = work.shard;
    let file: FileHandle | undefined;
    try {
      file = await this.#openFile(name);
      await file.truncate(bytes);
      const header = headerOf(work.shard);
      for (let written = 0; written < header.length; )
        written += (await file.write(header, written, header.length - written, written)).bytesWritten;
      const sources = work.shard.tensors.flatMap(({ expression }) => sourcesOf(expression));
      const madeOf = new Set(sources.map((source) => this.#inputs.pathOf(source)));
      return { name, file, madeOf, unrecorded: [] };
    } catch (cause) {
      await file?.close();
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
    this.#recordAndClose(shard);
  }

  #recordAndClose(shard: OpenShard): void {
    this.#record(shard);
    this.#queue = this.#queue
      .then(() => shard.file.close())
      .catch((cause: unknown) => {
        // NFS may say only now that the disk is full. Kept for the next call: the queue may have nobody waiting for it yet.
        this.#failure ??= this.#failed(shard.name, cause);
      });
  }

  #record(shard: OpenShard): void {
    const extents = shard.unrecorded;
    shard.unrecorded = [];
    this.#queue = this.#queue.then(async () => {
      if (this.#failure !== undefined) return;
      try {
        // What is made of an input that was written since the run began must not be continued.
        await this.#inputs.verify(shard.madeOf);
        await this.#journal.record(shard, extents);
      } catch (cause) {
        this.#failure = cause instanceof LayerloomError ? cause : this.#failed(shard.name, cause);
      }
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
