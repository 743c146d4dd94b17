import type { Partition, Side } from '../partition.js';
import { patternsOf } from '../regexes.js';
import { someTrainedBy } from './unsupported.js';

/** The option of axolotl that names the parameters to train; all others are frozen. */
export interface AxolotlOptions {
  readonly unfrozen_parameters: readonly string[];
}

/**
 * Returns axolotl's `unfrozen_parameters` for one side. axolotl (`utils/freeze.py`, `LayerNamePattern`) takes each
 * dot as a dot, matches from the name's beginning, and reads `[a:b]` at a pattern's end as a range of rows: the
 * patterns have their dots unescaped and no such end.
 *
 * @throws LayerloomError PARTITION_UNSUPPORTED for a side that trains nothing
 */
export const axolotlOptions = (partition: Partition, side: Side): AxolotlOptions => ({
  unfrozen_parameters: patternsOf(partition, someTrainedBy(partition, side, 'axolotl'), true),
});
