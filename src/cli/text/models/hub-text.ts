import type { RangeCacheListing } from '../../../api/range-cache.js';
import { counted, formatBytes } from '../../../core/base/format.js';
import { plainTable } from '../../../core/base/table.js';
import type { PushResult } from '../../../core/models/sources/hub/push/upload/push-result.js';
import type { RangeCacheEntry } from '../../../core/models/sources/ranges/list.js';
import type { RangeCacheRemoval } from '../../../core/models/sources/remove-ranges.js';

const states: Readonly<Record<PushResult['files'][number]['state'], string>> = {
  sent: 'sent',
  there: 'already on the hub',
  copied: 'copied by the hub from a merged model',
  planned: '',
};

export const describePush = ({ url, revision, commit, files, bytesSent }: PushResult): string => {
  const isPlanned = files.every(({ state }) => state === 'planned');
  const bytes = files.reduce((total, file) => total + file.bytes, 0);
  return [
    plainTable(files.map(({ name, bytes: size, state }) => [name, formatBytes(size), states[state]])),
    '',
    isPlanned
      ? `${url}: ${counted(files.length, 'file')}, ${formatBytes(bytes)}, to ${revision}`
      : commit === undefined
        ? `${url}: nothing to change, ${revision} has these files`
        : `${url}: ${formatBytes(bytesSent)} sent, ${revision} is now ${commit}`,
  ].join('\n');
};

const present = ({ files }: RangeCacheEntry): string => {
  const sum = (of: (file: RangeCacheEntry['files'][number]) => number) =>
    files.reduce((total, file) => total + of(file), 0);
  return `${formatBytes(sum((file) => file.present))} of ${formatBytes(sum(({ bytes }) => bytes))}`;
};

const rowOf = (entry: RangeCacheEntry): readonly string[] => [
  `${entry.id}@${entry.commit.slice(0, 7)}`,
  present(entry),
  `in ${counted(entry.files.length, 'file')}`,
  entry.lastUse === undefined ? 'never used' : `used ${entry.lastUse.toISOString().slice(0, 10)}`,
];

export const describeRangeCache = ({ directory, models, bytes }: RangeCacheListing): string =>
  [
    `${directory}: ${counted(models.length, 'model')}, ${formatBytes(bytes)} on the disk`,
    ...(models.length === 0 ? [] : [plainTable(models.map(rowOf))]),
  ].join('\n');

export const describeClearedCache = (
  { removed, inUse, foreign, freed }: RangeCacheRemoval,
  isDryRun: boolean,
): string =>
  [
    `${isDryRun ? 'would remove' : 'removed'} ${counted(removed.length, 'model')}, ${formatBytes(freed)}`,
    ...(removed.length === 0 ? [] : [plainTable(removed.map(rowOf))]),
    ...inUse.map(({ id, commit }) => `kept ${id}@${commit.slice(0, 7)}, which a process is using`),
    ...foreign.map((reason) => `kept what is in it: ${reason}`),
  ].join('\n');
