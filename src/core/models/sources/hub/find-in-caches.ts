import { hasAllWeights, hasNoWeights } from '../../checkpoint/whole.js';
import type { ModelSource } from '../source.js';
import { findInHubCache } from './cache/hub-cache.js';
import { rangeCacheOf } from './cache/range-folders.js';

/** Finds a hub model, with weights, in the hub's cache or else in the cache of ranges. */
export const findInCaches: ModelSource['find'] = async (at) => {
  const found = await findInHubCache(at);
  if (found !== undefined && 'path' in found && (await hasAllWeights(found.path))) return found;
  const inRanges = await rangeCacheOf(at);
  if (inRanges !== undefined || found === undefined || !('path' in found)) return inRanges ?? found;
  return (await hasNoWeights(found.path)) ? { tried: found.path } : found;
};
