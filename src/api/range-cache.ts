import { invalidParameter } from '../core/base/errors/invalid-parameter.js';
import { optionName } from '../core/base/errors/option-name.js';
import { idOfHubAddress, parseHubId } from '../core/models/address/remote.js';
import { rangeCacheRoot } from '../core/models/sources/ranges/folder/root.js';
import { listRangeCache, type RangeCacheEntry } from '../core/models/sources/ranges/list.js';
import type { RangeCacheRemoval } from '../core/models/sources/remove-ranges.js';

/** Hub models that `download` fetched in part only. */
export interface RangeCacheListing {
  readonly directory: string;
  /** Models by name, then commit. */
  readonly models: readonly RangeCacheEntry[];
  /** Bytes on disk, without links to whole files in the hub's cache. */
  readonly bytes: number;
}

/**
 * Lists the hub models that `download` fetched in part, with commits, local bytes per file, and time of last
 * use. Models whose files are all in the hub's own cache are listed by `hf cache`.
 */
export const rangeCache = async (): Promise<RangeCacheListing> => {
  const directory = rangeCacheRoot();
  const models = await listRangeCache(directory);
  return { directory, models, bytes: models.reduce((sum, { onDisk }) => sum + onDisk, 0) };
};

/** Options of `clearRangeCache`. At least one of `models`, `olderThan` and `all` is needed. */
export interface ClearRangeCacheOptions {
  /** `org/name` for all of its commits, or `org/name@commit`, which may be abbreviated. */
  readonly models?: readonly string[] | undefined;
  /** Models unused for this long (`30d`, `12h`, `90m`); with `models`, only among these. */
  readonly olderThan?: string | undefined;
  readonly all?: boolean | undefined;
  /** Only list what would be removed; default false. */
  readonly dryRun?: boolean | undefined;
}

/**
 * Removes the selected models, and leftovers, from the cache that `rangeCache` lists. Models that a process
 * is using stay. The hub's own cache does not change.
 *
 * @throws LayerloomError INVALID_PARAMETER, WRITE_FAILED
 */
export const clearRangeCache = async ({
  models = [],
  olderThan,
  all = false,
  dryRun,
}: ClearRangeCacheOptions): Promise<RangeCacheRemoval> => {
  const { removeFromRangeCache } = await import('../core/models/sources/remove-ranges.js');
  if (!all && models.length === 0 && olderThan === undefined)
    throw invalidParameter(
      'models',
      [],
      `names of models, ${optionName('olderThan')} or ${optionName('all')}`,
    );
  const named = models.map((model) => idOfHubAddress(model)?.replace(/@main$/, '') ?? model);
  for (const model of named)
    if (parseHubId(model) === undefined)
      throw invalidParameter('models', model, 'org/name or org/name@commit');
  const unusedFor = olderThan === undefined ? (all ? 0 : undefined) : durationOf(olderThan);
  return await removeFromRangeCache({
    ...(named.length === 0 ? {} : { models: named }),
    unusedFor,
    dryRun,
  });
};

const units: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns milliseconds. @throws LayerloomError INVALID_PARAMETER */
const durationOf = (text: string): number => {
  const { count, unit = '' } = /^(?<count>\d+(?:\.\d+)?)\s*(?<unit>[mhd])$/.exec(text.trim())?.groups ?? {};
  const milliseconds = units[unit];
  if (milliseconds === undefined)
    throw invalidParameter('older-than', text, 'a time such as 30d, 12h or 90m');
  return Number(count) * milliseconds;
};
