import type { InputFiles } from '../../core/engine/input-files.js';
import { type Checksums, computeChecksums } from '../../core/engine/output/checksums.js';
import { type DigestedFile, digestFile, digestWeights } from '../../core/engine/output/weight-digests.js';
import type { WorkerPool } from '../../core/engine/threads/pool.js';
import type { PlannedInput } from '../../core/plan/plan.js';
import type { WeightDigests } from '../../core/statements/merge-statement.js';
import type { MergeShard } from './planning/merge-shards.js';

const unreported = () => undefined;

/** Computes hashes for the statements of merges. Reads each input and each distinct shard once. */
export class BatchDigests {
  readonly #inputs: () => Promise<Checksums>;
  readonly #pool: WorkerPool;
  readonly #shards = new Map<string, Promise<DigestedFile | undefined>>();
  #ofInputs: Promise<Checksums> | undefined;

  constructor(planned: readonly PlannedInput[], inputs: InputFiles, pool: WorkerPool) {
    this.#pool = pool;
    this.#inputs = () =>
      computeChecksums({ inputs: planned, shards: [] }, '', inputs, pool, unreported, false);
  }

  /** @throws READ_FAILED, the codes of a header, and the pool's reason if it was stopped */
  async of(
    directory: string,
    shards: readonly MergeShard[],
  ): Promise<{ readonly inputs: Checksums; readonly weights: WeightDigests }> {
    const keys = new Map(shards.map(({ file, key }) => [file, key]));
    this.#ofInputs ??= this.#inputs();
    const inputs = await this.#ofInputs;
    const weights = await digestWeights(directory, [...keys.keys()], this.#pool, unreported, (file, path) => {
      const key = keys.get(file) ?? file;
      const digested = this.#shards.get(key) ?? digestFile(path, this.#pool);
      this.#shards.set(key, digested);
      return digested;
    });
    this.#pool.throwIfStopped();
    return { inputs, weights };
  }
}
