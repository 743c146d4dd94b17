import type { PlannedComparison } from '../../../plan/reports/comparison.js';
import type { StoredTensor } from '../../../tensor/stored-tensor.js';
import type { Source } from '../sources.js';
import { readingOf } from './reads.js';

/** Returns the inputs' bytes in drawn tiles, to explain wrong tensors. */
export const sourcesInTiles = async (
  tensors: readonly PlannedComparison[],
  sources: readonly Source[],
): Promise<StoredTensor[]> => {
  const reads: StoredTensor[] = [];
  for (const { name, shape, tiles = [] } of tensors)
    for (const source of sources) {
      const tensor = source.tensor(name);
      if (tensor === undefined || tensor.shape.join() !== shape.join()) continue;
      reads.push(...(await readingOf([tensor.operand], shape)).of(tiles));
    }
  return reads;
};
