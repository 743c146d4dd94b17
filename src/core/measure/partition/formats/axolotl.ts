import type { Partition, Side } from '../partition.js';
import { patternsOf } from '../regexes.js';
import { someTrainedBy } from './unsupported.js';

/** The parameters that axolotl trains; it freezes all others. */
export interface AxolotlOptions {
  readonly unfrozen_parameters: readonly string[];
}

/**
 * Returns patterns for axolotl's `LayerNamePattern` (`utils/freeze.py`). It takes dots literally, matches
 * from a name's start, and reads `[a:b]` at the end as a range of rows. So dots are not escaped, and no pattern ends
 * with such a range.
 *
 * @throws PARTITION_UNSUPPORTED for a side that trains nothing
 */
export const axolotlOptions = (partition: Partition, side: Side): AxolotlOptions => ({
  unfrozen_parameters: patternsOf(partition, someTrainedBy(partition, side, 'axolotl'), true),
});
