import { rm } from 'node:fs/promises';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { writing } from '../../core/base/files/writing.js';
import type { NonFiniteValue } from '../../core/engine/compute/measures/non-finite.js';
import { hashHere } from '../../core/engine/output/checksums.js';
import type { Link } from '../../core/engine/output/link.js';
import { Claim } from './claims/claim.js';
import { acquire } from './claims/claim-file.js';
import { clockAt } from './claims/clock.js';
import { waitForAny } from './claims/wait.js';
import { type ExperimentShards, noteRegistration, register } from './experiments.js';
import { type LinkedShard, linkShard } from './files/link-shard.js';
import { openStore } from './files/open-store.js';
import { checkKey, type StorePaths } from './files/paths.js';
import { isInDoubt, readEntry, type StoredShard, sizedOf, wholeOf } from './files/record.js';
import { type Collection, collect, type GcOptions } from './gc.js';
import { clearLeftovers, type Leftovers } from './leftovers.js';
import { listStore, type StoreListing } from './list.js';
import { noteNonFinite, type Verification, type VerifyOptions, verifyShard, verifyStore } from './verify.js';

/**
 * A content-addressed store of shards, for any number of merges, processes and hosts. To obtain a shard:
 *
 * 1. `registerExperiment(directory, { merges, finished: false })`
 * 2. Until `lookup(key)` finds it: `claim(key)`, compute into `claim.partialPath`, `claim.publish(written)`;
 * if another process holds the claim, `waitFor([key])`
 * 3. `link(key, target, 'hard')`
 *
 * Processes share only the file system. A shard is published whole, by an atomic rename, and never written
 * again. Computing it twice gives the same bytes. Nothing is cached in memory, so changes by other processes
 * are seen at once.
 */
export class ShardStore {
  readonly #paths: StorePaths;

  private constructor(paths: StorePaths) {
    this.#paths = paths;
  }

  /** @throws STORE_INVALID for a directory that is not a store, or is of a newer version; WRITE_FAILED */
  static async open(directory: string, { create = false }: { create?: boolean } = {}): Promise<ShardStore> {
    return new ShardStore(await openStore(directory, create));
  }

  /** Absolute path with links resolved. */
  get directory(): string {
    return this.#paths.root;
  }

  /** Returns a shard's path, whether or not it exists. */
  pathOf(key: string): string {
    return this.#paths.shard(checkKey(key));
  }

  /**
   * Finds a shard; undefined if absent, incomplete or damaged. If the file has changed, verifies its bytes
   * first.
   *
   * @param deep always verify the bytes; if they differ, mark the shard as damaged
   */
  async lookup(key: string, { deep = false }: { deep?: boolean } = {}): Promise<StoredShard | undefined> {
    checkKey(key);
    if (deep || isInDoubt(await readEntry(this.#paths, key)))
      await verifyShard(this.#paths, key, hashHere, (warning) => process.emitWarning(warning));
    return wholeOf(await readEntry(this.#paths, key));
  }

  /** Like `lookup`, for plans: reads no bytes, writes nothing, and assumes that changed files are valid. */
  async expect(key: string): Promise<StoredShard | undefined> {
    return sizedOf(await readEntry(this.#paths, checkKey(key)));
  }

  /**
   * Records whether a shard contains NaN or infinity.
   *
   * @throws WRITE_FAILED
   */
  async noteNonFinite(record: StoredShard, nonFinite: NonFiniteValue | null): Promise<void> {
    await noteNonFinite(this.#paths, record, nonFinite);
  }

  /**
   * Claims a shard. Returns undefined if another process claimed or published it; then call `waitFor`.
   *
   * @throws WRITE_FAILED
   */
  async claim(key: string): Promise<Claim | undefined> {
    const file = await acquire(this.#paths.claim(checkKey(key)), clockAt(this.#paths.clock));
    if (file === undefined) return undefined;
    try {
      if (file.former !== undefined)
        for (const partial of [
          this.#paths.partialShard(key, file.former),
          this.#paths.partialRecord(key, file.former),
        ])
          await writing(partial, () => rm(partial, { force: true }));
      // Another process may have published the shard since the caller's lookup.
      if (wholeOf(await readEntry(this.#paths, key)) === undefined) return new Claim(this.#paths, key, file);
    } catch (error) {
      await file.release();
      throw error;
    }
    await file.release();
    return undefined;
  }

  /**
   * Waits for shards, and returns those that are published or can be claimed.
   *
   * @throws INTERRUPTED
   */
  waitFor(keys: readonly string[], { signal }: { signal?: AbortSignal | undefined } = {}): Promise<string[]> {
    return waitForAny(this.#paths, keys.map(checkKey), signal);
  }

  /** @throws LINK_REFUSED; STORE_SHARD_MISSING if `gc` has removed the shard */
  async link(key: string, target: string, link: Link): Promise<LinkedShard> {
    checkKey(key);
    try {
      return await linkShard(this.#paths, key, target, link);
    } catch (error) {
      if (!(error instanceof LayerloomError) || error.code !== 'STORE_SHARD_MISSING') throw error;
      // `gc` may have set the shard aside; it or `clearLeftovers` restores it if the experiment is
      // registered.
      await waitForAny(this.#paths, [key]);
      if (wholeOf(await readEntry(this.#paths, key)) === undefined) await clearLeftovers(this.#paths, false);
      return await linkShard(this.#paths, key, target, link);
    }
  }

  /**
   * Registers an experiment, and replaces an earlier registration. Without a registration, `gc` only counts
   * hard links. Call this with all keys before the first lookup, and with `finished` at the end. From then
   * on, `gc` keeps a merge's shards as long as its directory exists.
   *
   * @throws WRITE_FAILED
   */
  registerExperiment(directory: string, shards: ExperimentShards): Promise<void> {
    for (const { keys } of shards.merges) keys.forEach(checkKey);
    return register(this.#paths, directory, shards);
  }

  /**
   * Returns a function that restores the experiment's present registration.
   *
   * @throws WRITE_FAILED
   */
  noteRegistration(directory: string): Promise<() => Promise<void>> {
    return noteRegistration(this.#paths, directory);
  }

  /** Lists shards, claims and leftovers of the store. */
  list(): Promise<StoreListing> {
    return listStore(this.#paths);
  }

  /**
   * Compares every shard's bytes with its record, and marks damaged ones.
   *
   * @throws INVALID_PARAMETER, INTERRUPTED
   */
  verify(options: VerifyOptions = {}): Promise<Verification> {
    return verifyStore(this.#paths, options);
  }

  /**
   * Removes files of killed processes.
   *
   * @throws WRITE_FAILED
   */
  clearLeftovers(): Promise<Leftovers> {
    return clearLeftovers(this.#paths, false);
  }

  /**
   * Removes unneeded shards (see gc.ts).
   *
   * @throws WRITE_FAILED, STORE_INVALID, INTERRUPTED
   */
  gc(options: GcOptions = {}): Promise<Collection> {
    return collect(this.#paths, options);
  }
}
