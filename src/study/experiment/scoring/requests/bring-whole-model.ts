import { bringWeights } from '../../../../core/engine/bring-weights.js';
import { openModel } from '../../../../core/models/reading/read-model.js';
import { bringModels } from '../../../../core/models/sources/bring-models.js';
import type { Download, FetchOptions } from '../../../../core/models/sources/source.js';
import { plannedInput } from '../../../../core/plan/compile/inputs/models.js';
import { missingWeights } from '../../../../core/plan/reports/missing-weights.js';

/**
 * Fetches all missing weights of a model.
 *
 * @throws DOWNLOAD_NEEDED unless fetching is allowed; the codes of `openModel`, `bringModels`
 *   and `bringRanges`
 */
export const bringWholeModel = async (
  model: string,
  download: Download,
  options: FetchOptions,
): Promise<void> => {
  await bringModels([model], { ...options, download });
  const input = plannedInput({ role: 'model', checkpoint: await openModel(model) });
  const files = new Set(input.files.map(({ path }) => path));
  await bringWeights(await missingWeights([input], [], files), download, options);
};
