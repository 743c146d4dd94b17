import { clearRangeCache, rangeCache } from '../../../api/range-cache.js';
import type { OutputOptions } from '../../options/output.js';
import { describeClearedCache, describeRangeCache } from '../../text/models/hub-text.js';
import { show } from '../running/show.js';

export const cacheLsCommand = async (options: OutputOptions): Promise<void> =>
  show(await rangeCache(), options, describeRangeCache);

export const cacheGcCommand = async ({
  json,
  quiet,
  verbose: _verbose,
  ...given
}: NonNullable<Parameters<typeof clearRangeCache>[0]> & OutputOptions): Promise<void> =>
  show(await clearRangeCache(given), { json, quiet }, (cleared) =>
    describeClearedCache(cleared, given.dryRun ?? false),
  );
