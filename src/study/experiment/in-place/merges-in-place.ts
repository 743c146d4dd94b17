import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { LayerloomError } from '../../../core/base/errors/errors.js';
import { valueAt } from '../../../core/base/errors/lookup.js';
import { exists } from '../../../core/base/files/exists.js';
import { writing } from '../../../core/base/files/writing.js';
import { makeShards } from '../../../core/engine/compute/make-shards.js';
import { refusedNonFinite } from '../../../core/engine/compute/measures/non-finite.js';
import type { InputFiles } from '../../../core/engine/input-files.js';
import { Run, type RunControls } from '../../../core/engine/run.js';
import type { CheckpointIndex } from '../../../core/models/checkpoint/checkpoint.js';
import { indexNames } from '../../../core/models/checkpoint/containers/containers.js';
import { cardName } from '../../../core/models/checkpoint/files/file-names.js';
import { readSideFile } from '../../../core/models/checkpoint/files/small-file.js';
import { storedTensors } from '../../../core/models/checkpoint/stored-tensors.js';
import { sourcesOfTensors } from '../../../core/plan/operands.js';
import { placedInFile } from '../../../core/plan/tensors-in-file.js';
import { assemble } from '../../batch/assemble.js';
import type { BatchMerge } from '../../batch/planning/batch-merge.js';
import {
  type BatchPlan,
  type BatchPlanOptions,
  type PlannedMerge,
  planBatch,
  plannedInputsOf,
  planOf,
} from '../../batch/planning/batch-plan.js';
import { type DistinctShard, groupShards } from '../../batch/planning/groups.js';
import { linkedIn } from '../../batch/planning/inputs-of.js';
import { makeLeft } from '../../batch/run-batch.js';
import { StoreSink } from '../../batch/store-sink.js';
import { storedNonFinite } from '../../batch/stored-non-finite.js';
import type { PlacedTensor, WeightsInPlace } from '../../evaluation/servers/weights-to-load.js';
import { Scratch } from '../../store/claims/scratch.js';
import { weightsOfShards } from '../../store/files/weights.js';
import { ShardStore } from '../../store/shard-store.js';
import { type ContentsInPlace, contentsInPlace } from './contents-in-place.js';
import { type PlacedMerge, type PlacedMerges, placeMerges } from './plan-in-place.js';

export interface InPlaceOptions extends Omit<BatchPlanOptions, 'assume'>, Omit<RunControls, 'onProgress'> {
  /** Directory to use if memory is too small. */
  readonly beside: string;
}

/** Unwritten merge, ready to load. Disposing removes its directory. */
export interface MergeToLoad extends AsyncDisposable {
  /** Directory with the merge's small files and the donor's weights. */
  readonly path: string;
  /** Merge's weights; undefined if there is no donor and `path` has them. */
  readonly weights: WeightsInPlace | undefined;
}

/**
 * Unwritten merges of a batch. Unchanged tensors stay in the inputs. Computed ones are made in a scratch
 * directory when first needed, with the same keys and bytes as written shards.
 */
export class MergesInPlace implements AsyncDisposable {
  readonly #plan: BatchPlan<BatchMerge>;
  readonly #placed: PlacedMerges;
  readonly #options: InPlaceOptions;
  readonly #scratch: Scratch;
  readonly #store: ShardStore;
  readonly #run: Run;
  readonly #inputs: InputFiles;
  readonly #sink: StoreSink;
  readonly #merges: ReadonlyMap<string, PlannedMerge<BatchMerge>>;
  /** Identities of the weights by merge, equal to those of written merges. */
  readonly merges: ReadonlyMap<string, string>;
  readonly contents: ContentsInPlace;
  readonly #failed = new Map<string, unknown>();
  /** Makes merges one at a time, so that shared shards are made once. */
  #turn: Promise<unknown> = Promise.resolve();
  #made = 0;

  private constructor(
    plan: BatchPlan<BatchMerge>,
    placed: PlacedMerges,
    options: InPlaceOptions,
    scratch: Scratch,
    store: ShardStore,
    run: Run,
    inputs: InputFiles,
  ) {
    this.#plan = plan;
    this.#placed = placed;
    this.#options = options;
    this.#scratch = scratch;
    this.#store = store;
    this.#run = run;
    this.#inputs = inputs;
    this.#merges = new Map(plan.merges.map((merge) => [merge.merge.name, merge]));
    this.contents = contentsInPlace(plan, placed, options);
    this.merges = new Map(
      plan.merges.map(({ merge, shards }) => [merge.name, weightsOfShards(shards.map(({ key }) => key))]),
    );
    const mayBeNonFinite = new Set(
      plan.merges
        .filter(({ recipe }) => recipe.allowNonFinite)
        .flatMap((merge) => valueAt(placed.merges, merge).computed.map(({ key }) => key)),
    );
    this.#sink = new StoreSink(store, run.pool, inputs, (key) => mayBeNonFinite.has(key), {
      onReady: () => Promise.resolve(),
      onFailed: ({ key }, error) => {
        this.#failed.set(key, error);
        return Promise.resolve();
      },
    });
  }

  /**
   * Plans merges.
   *
   * @throws as `planBatch`; DISK_SPACE, MEMORY_NEEDED, WRITE_FAILED, INPUT_CHANGED
   */
  static async open(merges: readonly BatchMerge[], options: InPlaceOptions): Promise<MergesInPlace> {
    const plan = await planBatch(merges, options);
    const placed = placeMerges(plan);
    const run = new Run(options);
    let scratch: Scratch | undefined;
    try {
      run.fitMemory([...plan.shards.values()].flatMap(({ tensors }) => tensors));
      scratch = await Scratch.open(options.beside, placed.bytes);
      const store = await ShardStore.open(join(scratch.directory, 'store'), { create: true });
      const sources = sourcesOfTensors([...plan.shards.values()].flatMap(({ tensors }) => tensors));
      const inputs = await run.open(plan.inputs, sources, linkedIn(plan));
      return new MergesInPlace(plan, placed, options, scratch, store, run, inputs);
    } catch (error) {
      await run[Symbol.asyncDispose]();
      await scratch?.[Symbol.asyncDispose]();
      throw error;
    }
  }

  get directory(): string {
    return this.#scratch.directory;
  }

  has(name: string): boolean {
    return this.merges.has(name) || this.#refusedBy(name) !== undefined;
  }

  get bytesMade(): number {
    return this.#made;
  }

  get warnings(): readonly string[] {
    return [...this.#plan.warnings, ...this.#run.warnings];
  }

  get withoutDonor(): readonly string[] {
    return this.#placed.withoutDonor;
  }

  /** @throws LayerloomError with the reason if the merge was refused */
  weightsOf(name: string): string | undefined {
    const refused = this.#refusedBy(name);
    if (refused !== undefined) throw refused;
    return this.merges.get(name);
  }

  /** @throws INPUT_CHANGED, READ_FAILED */
  async verify(name: string): Promise<void> {
    const merge = valueAt(this.#merges, name);
    for (const { files } of plannedInputsOf(merge, this.#plan))
      for (const { path } of files)
        if (this.#inputs.fdOfPath(path) !== undefined) await this.#inputs.verifyPath(path);
  }

  /**
   * Makes a merge's missing shards.
   *
   * @throws NON_FINITE, INPUT_CHANGED, READ_FAILED, WRITE_FAILED, INTERRUPTED
   */
  prepare(name: string): Promise<MergeToLoad> {
    const prepared = this.#turn.then(() => this.#prepare(valueAt(this.#merges, name)));
    this.#turn = prepared.catch(() => undefined);
    return prepared;
  }

  #refusedBy(name: string): LayerloomError | undefined {
    return this.#plan.refused.find(({ merge }) => merge.name === name)?.error;
  }

  async #prepare(merge: PlannedMerge<BatchMerge>): Promise<MergeToLoad> {
    const { pool, signal } = this.#run;
    const placed = valueAt(this.#placed.merges, merge);
    try {
      await this.verify(merge.merge.name);
      for (const shard of placed.computed) await this.#refuse(merge, shard);
      const lacking: DistinctShard[] = [];
      for (const shard of placed.computed)
        if ((await this.#store.lookup(shard.key)) === undefined) lacking.push(shard);
      await makeShards(groupShards(lacking, this.#inputs.idOf), pool, this.#inputs, this.#sink);
      await makeLeft(pool, this.#inputs, this.#sink, this.#store, signal);
      for (const shard of placed.computed) await this.#refuse(merge, shard);
      this.#made += lacking.reduce((sum, { bytes }) => sum + bytes, 0);
      return await this.#place(merge, placed);
    } catch (error) {
      throw this.#run.reasonOf(error, { state: 'complete merges stay' });
    }
  }

  /** @throws LayerloomError if the shard cannot be made, or has NaN or infinity that the merge refuses */
  async #refuse({ recipe }: PlannedMerge<BatchMerge>, shard: DistinctShard): Promise<void> {
    if (this.#failed.has(shard.key)) throw this.#failed.get(shard.key);
    if (recipe.allowNonFinite) return;
    const found = await storedNonFinite(shard, this.#store, this.#run.pool);
    if (found !== null) throw refusedNonFinite(found);
  }

  async #place(
    merge: PlannedMerge<BatchMerge>,
    { donor, copied, computed }: PlacedMerge,
  ): Promise<MergeToLoad> {
    const path = join(this.#scratch.directory, 'merges', merge.merge.name);
    const placed = { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
    const plan = () => planOf(merge, this.#plan, this.#options);
    if (donor === undefined) {
      const whole = { inputs: plannedInputsOf(merge, this.#plan), shards: merge.shards, plan };
      await assemble(whole, path, this.#store, this.#inputs, 'symbolic');
      return { ...placed, weights: undefined };
    }
    await writing(path, async () => {
      await rm(path, { recursive: true, force: true });
      await mkdir(path, { recursive: true });
      for (const file of (await plan()).files) {
        // Skips files that describe the weights, because the directory has the donor's.
        if (indexNames.includes(file.name) || file.name === cardName) continue;
        const to = join(path, file.name);
        await mkdir(dirname(to), { recursive: true });
        await writeFile(to, 'text' in file ? file.text : await readSideFile(file.copyOf));
      }
      for (const from of await weightFilesOf(donor)) await symlink(from, join(path, basename(from)));
    });
    const made = computed.flatMap(({ key, tensors }) =>
      placedInFile(tensors).map((tensor): PlacedTensor => ({ ...tensor, file: this.#store.pathOf(key) })),
    );
    return { ...placed, weights: { tensors: [...copied, ...made], donated: tensorsOf(donor) } };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#turn;
    await this.#sink.close();
    await this.#run[Symbol.asyncDispose]();
    await this.#scratch[Symbol.asyncDispose]();
  }
}

const tensorsOf = (checkpoint: CheckpointIndex): PlacedTensor[] =>
  [...storedTensors(checkpoint)].flatMap(([name, { file, begin, end, dtype, shape }]) => {
    const path = checkpoint.files[file]?.path;
    return path === undefined ? [] : [{ name, dtype, shape, begin, end, file: path }];
  });

const weightFilesOf = async ({ files, path, folder = path }: CheckpointIndex): Promise<string[]> => {
  const indexes = indexNames.map((name) => join(folder, name));
  const there = await Promise.all(indexes.map(exists));
  return [...files.map((file) => file.path), ...indexes.filter((_, index) => there[index])];
};
