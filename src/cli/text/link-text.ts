import { layerloomCommand } from '../../core/base/errors/command-line.js';
import { counted, formatBytes, formatRate, formatSeconds } from '../../core/base/format.js';
import type { MergeResult } from '../../core/engine/run-plan.js';
import { type MergePlan, verbatimPath } from '../../core/plan/plan.js';

const words = {
  reflink: 'shared with the inputs (reflink)',
  hard: 'hard links',
  symbolic: 'symbolic links',
} as const;

/**
 * `34 shards, 16.1 GB: 7 hard links (3.06 GB), 13.0 GB written in 12 s (1.08 GB/s, 8 threads)`; if this run
 * wrote all, `34 shards, 16.1 GB written in 12 s (…)`.
 */
export const describeWritten = ({
  shards,
  bytesWritten,
  bytesResumed,
  seconds,
  threads,
}: MergeResult): string => {
  const parts = Object.entries(words).flatMap(([link, text]) => {
    const linked = shards.filter((shard) => shard.link === link);
    const bytes = linked.reduce((total, shard) => total + shard.bytes, 0);
    return linked.length === 0 ? [] : [`${linked.length} ${text} (${formatBytes(bytes)})`];
  });
  // Counts headers too; the count by tensor lacks them.
  const unlinked = shards.filter(({ link }) => link === undefined).reduce((sum, { bytes }) => sum + bytes, 0);
  const written = bytesResumed > 0 ? bytesWritten : unlinked;
  if (bytesResumed > 0) parts.push(`${formatBytes(bytesResumed)} resumed`);
  const total = shards.reduce((sum, { bytes }) => sum + bytes, 0);
  const rate = written === 0 ? '' : `${formatRate(written, seconds)}, `;
  const took = `written in ${formatSeconds(seconds)} (${rate}${counted(threads, 'thread')})`;
  const all = `${counted(shards.length, 'shard')}, ${formatBytes(total)}`;
  return parts.length === 0
    ? `${all} ${took}`
    : `${all}: ${[...parts, `${formatBytes(written)} ${took}`].join(', ')}`;
};

/** Says why no shard can be linked, and the remedy; undefined if some shard can. */
export const whyNotLinked = ({ shards, inputs, cost }: MergePlan): string | undefined => {
  if (shards.some((shard) => verbatimPath(shard, inputs) !== undefined)) return undefined;
  const nothing = 'nothing can be linked:';
  if (cost.bytesCopied === 0) return `${nothing} every tensor is computed`;
  const whole = shards.filter(({ tensors }) => {
    const [first] = tensors;
    return tensors.every(
      ({ expression }) =>
        expression.kind === 'copy' &&
        first?.expression.kind === 'copy' &&
        expression.source.input === first.expression.source.input,
    );
  });
  if (whole.length === 0)
    return `${nothing} each shard contains computed tensors, or tensors of several models; --layout layer may separate them`;
  const bytes = whole.reduce((total, shard) => total + shard.bytes, 0);
  return (
    `${nothing} ${whole.length} shards (${formatBytes(bytes)}) come from one model, but no input file contains exactly ` +
    `these tensors; rewrite the models once with \`${layerloomCommand('relayout', 'MODEL', '-o', 'OUT', '--layout', 'layer')}\`, and merge those`
  );
};
