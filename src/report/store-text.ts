import type { Collection } from '../store/gc.js';
import type { StoreListing } from '../store/list.js';
import type { Verification } from '../store/verify.js';
import { formatBytes } from './format.js';
import { plainTable } from './table.js';

/** Enough to tell keys apart; `--json` has them whole. */
const shown = 12;

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`;

/** What is in a store: a line for each shard, then what is being computed. */
export const describeStore = ({ store, shards, bytes, claims }: StoreListing): string => {
  const rows = shards.map(({ key, bytes: size, links, written, inputs, state }) => [
    key.slice(0, shown),
    formatBytes(size),
    count(links, 'hard link'),
    written.slice(0, 10),
    `${inputs.join(', ')}${state === 'whole' ? '' : ` (${state})`}`,
  ]);
  return [
    `${store}: ${count(shards.length, 'shard')}, ${formatBytes(bytes)}`,
    ...(rows.length > 0 ? [plainTable(rows)] : []),
    ...claims.map(({ key, host, pid, since, isDead }) =>
      isDead
        ? `${key.slice(0, shown)} was claimed by process ${pid} on ${host}, which is gone`
        : `${key.slice(0, shown)} is being computed by process ${pid} on ${host} since ${since}`,
    ),
  ].join('\n');
};

export const describeVerification = ({ store, shards, bytes, damaged, recorded }: Verification): string => {
  const rows = damaged.map(({ key, reason, links }) => [
    key.slice(0, shown),
    reason,
    count(links, 'hard link'),
  ]);
  return [
    `${store}: ${count(shards, 'shard')} read, ${formatBytes(bytes)}, ${damaged.length === 0 ? 'none' : damaged.length} damaged`,
    ...(recorded > 0 ? [`${count(recorded, 'shard')} had no checksum, and has one from now on`] : []),
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
    `${store}: ${verb} ${count(removed.length, 'shard')} (${formatBytes(bytesRemoved)}), ${dryRun ? 'keep' : 'kept'} ${kept}`,
    ...(claims + partials > 0
      ? [
          `${verb} ${count(claims, 'claim')} and ${count(partials, 'partial file')} (${formatBytes(bytes)}) of processes that died`,
        ]
      : []),
    ...named('gone').map(({ directory }) => `${directory} is gone, and what only it needed with it`),
    ...named('elsewhere').map(
      ({ directory, host }) => `kept all that ${directory} needs, which can only be seen on ${host}`,
    ),
  ].join('\n');
};
