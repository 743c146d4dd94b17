import type { BatchCost } from '../experiment/cost.js';
import type { MergeOutcome } from '../experiment/merge-tracker.js';
import { formatBytes, formatSeconds } from './format.js';
import { plainTable } from './table.js';

const times = (a: number, b: number): string => (b > 0 ? ` (${(a / b).toPrecision(3)} times less)` : '');

/**
 * Formats the cost of a batch for the terminal, before it begins; `free` is the disk's free bytes, if known.
 */
export const describeCost = (cost: BatchCost, free: number | undefined): string =>
  plainTable([
    ['merges', String(cost.merges)],
    ['without sharing', formatBytes(cost.bytesPlain)],
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

/** Lists the failed merges with their messages. */
export const failuresOf = (merges: readonly MergeOutcome[]): { merge: string; message: string }[] =>
  merges.flatMap(({ name, error }) => (error === undefined ? [] : [{ merge: name, message: error.message }]));

/** Formats the end of a batch for the terminal. */
export const describeOutcomes = (
  merges: readonly MergeOutcome[],
  {
    bytesRead,
    bytesWritten,
    seconds,
    out,
  }: { bytesRead: number; bytesWritten: number; seconds: number; out: string },
): string => {
  const done = merges.filter(({ state }) => state === 'done').length;
  return [
    out,
    `${done} of ${merges.length} merges, ${formatBytes(bytesWritten)} written and ${formatBytes(bytesRead)} read in ${formatSeconds(seconds)}`,
    ...failuresOf(merges).map(({ merge, message }) => `  failed: ${merge}: ${message}`),
  ].join('\n');
};
