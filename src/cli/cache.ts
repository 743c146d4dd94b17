import { clearRangeCache, rangeCache } from '../api/range-cache.js';
import { describeClearedCache, describeRangeCache } from '../documents/text/hub-text.js';
import type { OutputOptions } from './options.js';
import { printJson, printLine } from './print.js';

export interface CacheGcOptions extends OutputOptions {
  readonly olderThan?: string;
  readonly all?: boolean;
  readonly dryRun?: boolean;
}

export const cacheLsCommand = async ({ json, quiet }: OutputOptions): Promise<void> => {
  const listing = await rangeCache();
  if (json) printJson(listing);
  else if (!quiet) printLine(describeRangeCache(listing));
};

export const cacheGcCommand = async (
  models: readonly string[],
  { olderThan, all, dryRun, json, quiet }: CacheGcOptions,
): Promise<void> => {
  const cleared = await clearRangeCache({ models, olderThan, all, dryRun });
  if (json) printJson(cleared);
  else if (!quiet) printLine(describeClearedCache(cleared, dryRun ?? false));
};
