import type { BatchCost } from '../experiment/cost.js';
import type { MergeOutcome } from '../experiment/merge-tracker.js';

import { formatBytes, formatSeconds } from './format.js';
import { plainTable } from './table.js';

const times = (a: number, b: number): string => (b > 0 ? ` (${(a / b).toPrecision(3)} times less)` : '');

/** What a batch would cost, for people to read before it begins. */
export const describeCost = (cost: BatchCost, free: number | undefined): string =>
  plainTable([
    ['merges', String(cost.merges)],
    ['written plainly', formatBytes(cost.bytesPlain)],
    [
      'distinct',
      `${formatBytes(cost.bytesDistinct)} in ${cost.shards} shards${times(cost.bytesPlain, cost.bytesDistinct)}`,
    ],
    ...(cost.bytesVerbatim > 0 ? [['linked from inputs', formatBytes(cost.bytesVerbatim)]] : []),
    ['to write', `${formatBytes(cost.bytesToWrite)} in ${cost.shardsToWrite} shards`],
    ['to read', formatBytes(cost.bytesToRead)],
    ...(free === undefined ? [] : [['free on the disk', formatBytes(free)]]),
    ['time', `about ${formatSeconds(cost.seconds)}, at 1 GB/s`],
  ]);

/** How a batch ended. */
export const describeOutcomes = (
  merges: readonly MergeOutcome[],
  {
    bytesRead,
    bytesWritten,
    seconds,
    out,
  }: { bytesRead: number; bytesWritten: number; seconds: number; out: string },
): string => {
  const count = (state: MergeOutcome['state']) => merges.filter((merge) => merge.state === state).length;
  const failed = merges.filter(({ state }) => state === 'failed');
  return [
    out,
    `${count('done')} of ${merges.length} merges, ${formatBytes(bytesWritten)} written and ${formatBytes(bytesRead)} read in ${formatSeconds(seconds)}`,
    ...failed.map(({ name, error }) => `  failed: ${name}: ${error?.message ?? ''}`),
  ].join('\n');
};
