import { allExist } from '../../../base/files/exists.js';
import { isHubId } from '../../address/remote.js';
import type { RemoteSource } from '../source.js';
import { pointerPath } from './cache/cache-writer.js';
import { statedContent } from './cache/content.js';
import { downloadCommand, hubCacheRoot, rangeFolders } from './cache/hub-cache.js';
import { ownCommitOf } from './cache/range-folders.js';
import { findInCaches } from './find-in-caches.js';

/** The Hugging Face hub, or a compatible server. Imports network code only when needed. */
export const hub: RemoteSource = {
  find: findInCaches,
  names: isHubId,
  folders: rangeFolders,
  describePath: async (path) => {
    const hub = await ownCommitOf(path);
    if (hub === undefined) return undefined;
    return { hub, ...(hub.inside === undefined ? { name: hub.id } : {}) };
  },
  fetchCommand: downloadCommand,
  bringHeaders: async (at, options) => (await import('./bring-model.js')).bringModel(at, options),
  bringRanges: async (needs, options) => (await import('./bring-ranges.js')).bringRanges(needs, options),
  statedContent,
  hasElsewhere: ({ id, commit }, names, env) =>
    allExist(names.map((name) => pointerPath({ cache: hubCacheRoot(env), id, commit }, name))),
};
