import { valueAt } from '../../../core/base/errors/lookup.js';
import { readSideFile } from '../../../core/models/checkpoint/files/small-file.js';
import type { MergePlan } from '../../../core/plan/plan.js';
import type { BatchMerge } from '../../batch/planning/batch-merge.js';
import {
  type BatchPlan,
  type BatchPlanOptions,
  type PlannedMerge,
  planOf,
} from '../../batch/planning/batch-plan.js';
import {
  formOfFiles,
  isOfTheModel,
  type ModelContents,
  type SmallFile,
  smallFile,
} from '../../evaluation/model-contents.js';
import type { PlacedMerges } from './plan-in-place.js';

/** Identifies the weights of merges in place, without reading weights. */
export class ContentsInPlace {
  readonly #plan: BatchPlan<BatchMerge>;
  readonly #placed: PlacedMerges;
  readonly #options: BatchPlanOptions;
  readonly #merges: ReadonlyMap<string, PlannedMerge<BatchMerge>>;
  readonly #copied = new Map<string, Promise<SmallFile>>();

  constructor(plan: BatchPlan<BatchMerge>, placed: PlacedMerges, options: BatchPlanOptions) {
    this.#plan = plan;
    this.#placed = placed;
    this.#options = options;
    this.#merges = new Map(plan.merges.map((merge) => [merge.merge.name, merge]));
  }

  /**
   * Returns the contents of a merge; undefined if the plan lacks it.
   *
   * @throws LayerloomError READ_FAILED, the codes of `planRecipe`
   */
  async of(name: string): Promise<ModelContents | undefined> {
    const merge = this.#merges.get(name);
    if (merge === undefined) return undefined;
    const { files } = await planOf(merge, this.#plan, this.#options);
    const small = files.filter((file) => isOfTheModel(file.name)).map((file) => this.#small(file));
    return {
      form: formOfFiles(await Promise.all(small)),
      parts: valueAt(this.#placed.merges, merge).parts,
    };
  }

  #small(file: MergePlan['files'][number]): Promise<SmallFile> {
    const { name } = file;
    if ('text' in file) return smallFileOf(name, Buffer.from(file.text));
    const known =
      this.#copied.get(file.copyOf) ??
      readSideFile(file.copyOf).then((content) => smallFileOf(name, content));
    this.#copied.set(file.copyOf, known);
    return known;
  }
}

const smallFileOf = (name: string, content: Buffer): Promise<SmallFile> =>
  smallFile(name, content.length, () => Promise.resolve(content));
