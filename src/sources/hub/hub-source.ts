import { isHubId } from '../../address/remote.js';
import type { RemoteSource } from '../source.js';
import { downloadCommand, hubRevisionOf } from './cache/hub-cache.js';
import { isUnverified, missingRanges } from './cache/range-cache.js';
import { statedContent } from './cache/stated-content.js';
import { findInCaches } from './find-in-caches.js';

/** The Hugging Face hub, or one that speaks as it does. What asks it is loaded on demand: most runs ask nothing. */
export const hub: RemoteSource = {
  find: findInCaches,
  names: isHubId,
  describePath: (path) => {
    const found = hubRevisionOf(path);
    if (found === undefined) return undefined;
    return { hub: found, ...(found.inside === undefined ? { name: found.id } : {}) };
  },
  fetchCommand: downloadCommand,
  bringHeaders: async (at, options) => (await import('./bring-model.js')).bringModel(at, options),
  missingRanges,
  isUnverified,
  bringRanges: async (needs, options) => (await import('./bring-ranges.js')).bringRanges(needs, options),
  statedContent,
};
