import { valueAt } from '../../../core/base/errors/lookup.js';
import { readSideFile } from '../../../core/models/checkpoint/files/small-file.js';
import type { BatchMerge } from '../../batch/planning/batch-merge.js';
import { type BatchPlan, type BatchPlanOptions, planOf } from '../../batch/planning/batch-plan.js';
import {
  formOfFiles,
  isOfTheModel,
  type ModelContents,
  type SmallFile,
  smallFile,
} from '../../evaluation/model-contents.js';
import type { PlacedMerges } from './plan-in-place.js';

/**
 * Identifies an unwritten merge's weights without reading them. Returns undefined if the merge is not
 * planned.
 *
 * @throws READ_FAILED, the codes of `planRecipe`
 */
export type ContentsInPlace = (name: string) => Promise<ModelContents | undefined>;

export const contentsInPlace = (
  plan: BatchPlan<BatchMerge>,
  placed: PlacedMerges,
  options: BatchPlanOptions,
): ContentsInPlace => {
  const merges = new Map(plan.merges.map((merge) => [merge.merge.name, merge]));
  const copied = new Map<string, Promise<SmallFile>>();
  const copyOf = (name: string, path: string): Promise<SmallFile> => {
    const known = copied.get(path) ?? readSideFile(path).then((content) => smallFileOf(name, content));
    copied.set(path, known);
    return known;
  };
  return async (name) => {
    const merge = merges.get(name);
    if (merge === undefined) return undefined;
    const { files } = await planOf(merge, plan, options);
    const small = files.flatMap((file) => {
      if (!isOfTheModel(file.name)) return [];
      return 'text' in file ? smallFileOf(file.name, Buffer.from(file.text)) : copyOf(file.name, file.copyOf);
    });
    return { form: formOfFiles(await Promise.all(small)), parts: valueAt(placed.merges, merge).parts };
  };
};

const smallFileOf = (name: string, content: Buffer): Promise<SmallFile> =>
  smallFile(name, content.length, () => Promise.resolve(content));
