import { rm } from 'node:fs/promises';
import type { Link } from '../engine/output/link.js';
import { Claim } from './claim.js';
import { acquire } from './claim-file.js';
import { clockAt } from './clock.js';
import { type ExperimentShards, register } from './experiments.js';
import { type Collection, collect, type GcOptions } from './gc.js';
import { clearLeftovers, type Leftovers } from './leftovers.js';
import { type LinkedShard, linkShard } from './link-shard.js';
import { listStore, type StoreListing } from './list.js';
import { openStore } from './open-store.js';
import { checkKey, type StorePaths } from './paths.js';
import { isInDoubt, readEntry, type StoredShard, wholeOf } from './record.js';
import { hashHere, type Verification, type VerifyOptions, verifyShard, verifyStore } from './verify.js';
import { waitForAny } from './wait.js';

/**
 * Shards by the hash of what they are, for any number of merges, processes and hosts. To have a shard:
 *
 * ```ts
 * await store.registerExperiment(directory, { merges, finished: false })
 * while ((await store.lookup(key)) === undefined) {
 *   await using claim = await store.claim(key)
 *   if (claim === undefined) await store.waitFor([key])
 *   else await claim.publish(await compute(claim.partialPath))
 * }
 * await store.link(key, target, 'hard')
 * ```
 *
 * The file system is all that processes share. A shard appears whole, by being renamed, and its file is never written again; whoever computes one twice writes the
 * same bytes. Claims only save work. Nothing is kept in memory, so that what another process did is seen at once.
 */
export class ShardStore {
  readonly #paths: StorePaths;

  private constructor(paths: StorePaths) {
    this.#paths = paths;
  }

  /** @throws LayerloomError STORE_INVALID for what is no store, or a newer one; WRITE_FAILED */
  static async open(directory: string, { create = false }: { create?: boolean } = {}): Promise<ShardStore> {
    return new ShardStore(await openStore(directory, create));
  }

  /** Absolute, links resolved. */
  get directory(): string {
    return this.#paths.root;
  }

  /** Where a shard is, or would be. */
  pathOf(key: string): string {
    return this.#paths.shard(checkKey(key));
  }

  /**
   * The record of a shard that is there whole. One whose file was written or replaced since it was published, through a hard link or with the whole store, has its
   * bytes compared first.
   *
   * @param deep read its bytes too; where they are not what was written, the shard is marked as damaged and counts as absent
   */
  async lookup(key: string, { deep = false }: { deep?: boolean } = {}): Promise<StoredShard | undefined> {
    checkKey(key);
    if (deep || isInDoubt(await readEntry(this.#paths, key)))
      await verifyShard(this.#paths, key, hashHere, (warning) => process.emitWarning(warning));
    return wholeOf(await readEntry(this.#paths, key));
  }

  /**
   * The right to compute a shard; undefined when another process has it, or the shard has been published: `waitFor` then says when to look again.
   *
   * @throws LayerloomError WRITE_FAILED
   */
  async claim(key: string): Promise<Claim | undefined> {
    const file = await acquire(this.#paths.claim(checkKey(key)), clockAt(this.#paths.clock));
    if (file === undefined) return undefined;
    if (file.former !== undefined)
      for (const partial of [
        this.#paths.partialShard(key, file.former),
        this.#paths.partialRecord(key, file.former),
      ])
        await rm(partial, { force: true });
    // Published since the caller looked.
    if (wholeOf(await readEntry(this.#paths, key)) === undefined) return new Claim(this.#paths, key, file);
    await file.release();
    return undefined;
  }

  /**
   * Returns as soon as any of these shards is published, or free to be claimed, those that are.
   *
   * @throws LayerloomError INTERRUPTED
   */
  waitFor(keys: readonly string[], { signal }: { signal?: AbortSignal | undefined } = {}): Promise<string[]> {
    return waitForAny(this.#paths, keys.map(checkKey), signal);
  }

  /** Makes `target` of a published shard. @throws LayerloomError LINK_REFUSED; STORE_SHARD_MISSING when `gc` was faster */
  link(key: string, target: string, link: Link): Promise<LinkedShard> {
    return linkShard(this.#paths, checkKey(key), target, link);
  }

  /**
   * Says which shards an experiment needs, in place of what it said before: for `gc`, to which only hard links show. To be called with all keys before the first
   * is looked up, and with `finished` at the end; from then on a merge's shards are needed while its directory is there.
   *
   * @throws LayerloomError WRITE_FAILED
   */
  registerExperiment(directory: string, shards: ExperimentShards): Promise<void> {
    for (const { keys } of shards.merges) keys.forEach(checkKey);
    return register(this.#paths, directory, shards);
  }

  /** What is there. */
  list(): Promise<StoreListing> {
    return listStore(this.#paths);
  }

  /** Compares every shard's bytes with its record; marks what is damaged. @throws LayerloomError INVALID_PARAMETER, INTERRUPTED */
  verify(options: VerifyOptions = {}): Promise<Verification> {
    return verifyStore(this.#paths, options);
  }

  /** Removes what processes left that were killed. @throws LayerloomError WRITE_FAILED */
  clearLeftovers(): Promise<Leftovers> {
    return clearLeftovers(this.#paths, false);
  }

  /** Removes what nothing links. @throws LayerloomError WRITE_FAILED, STORE_INVALID, INTERRUPTED */
  gc(options: GcOptions = {}): Promise<Collection> {
    return collect(this.#paths, options);
  }
}
