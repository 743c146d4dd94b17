import { counted, formatBytes } from '../../../core/base/format.js';
import { plainTable } from '../../../core/base/table.js';
import type { Collection } from '../../../study/store/gc.js';
import type { StoreListing } from '../../../study/store/list.js';
import type { Verification } from '../../../study/store/verify.js';

const shown = 12;

export const describeStore = ({ store, shards, bytes, claims }: StoreListing): string => {
  const rows = shards.map(({ key, bytes: size, links, written, inputs, state }) => [
    key.slice(0, shown),
    formatBytes(size),
    counted(links, 'hard link'),
    written.slice(0, 10),
    `${inputs.join(', ')}${state === 'whole' ? '' : ` (${state})`}`,
  ]);
  return [
    `${store}: ${counted(shards.length, 'shard')}, ${formatBytes(bytes)}`,
    ...(rows.length > 0 ? [plainTable(rows)] : []),
    ...claims.map(({ key, host, pid, since, isDead }) =>
      isDead
        ? `${key.slice(0, shown)} was claimed by process ${pid} on ${host}, which has died`
        : `${key.slice(0, shown)} is being computed by process ${pid} on ${host} since ${since}`,
    ),
  ].join('\n');
};

export const describeVerification = ({ store, shards, bytes, damaged, recorded }: Verification): string => {
  const rows = damaged.map(({ key, reason, links }) => [
    key.slice(0, shown),
    reason,
    counted(links, 'hard link'),
  ]);
  return [
    `${store}: ${counted(shards, 'shard')} read, ${formatBytes(bytes)}, ${damaged.length === 0 ? 'none' : damaged.length} damaged`,
    ...(recorded > 0 ? [`checksums recorded for ${counted(recorded, 'shard')} that had none`] : []),
    ...(rows.length > 0 ? [plainTable(rows)] : []),
  ].join('\n');
};

export const describeCollection = ({
  store,
  dryRun,
  removed,
  bytesRemoved,
  kept,
  leftovers,
  experiments,
}: Collection): string => {
  const verb = dryRun ? 'would remove' : 'removed';
  const { claims, partials, bytes } = leftovers;
  const named = (state: string) => experiments.filter((experiment) => experiment.state === state);
  return [
    `${store}: ${verb} ${counted(removed.length, 'shard')} (${formatBytes(bytesRemoved)}), ${dryRun ? 'keep' : 'kept'} ${kept}`,
    ...(claims + partials > 0
      ? [
          `${verb} ${counted(claims, 'claim')} and ${counted(partials, 'partial file')} (${formatBytes(bytes)}) of processes that died`,
        ]
      : []),
    ...named('gone').map(({ directory }) => `${directory} no longer exists, so its shards are not kept`),
    ...named('elsewhere').map(
      ({ directory, host }) => `kept every shard of ${directory}, which only ${host} can check`,
    ),
  ].join('\n');
};
