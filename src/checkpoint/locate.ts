import { basename, resolve } from 'node:path';
import { LayerloomError } from '../base/errors.js';
import { withoutExtension } from './formats/formats.js';
import { downloadCommand, hubCache, hubRevisionOf } from './hub-cache.js';
import { exists, type Location, type ModelPlace, splitName } from './model-place.js';
import { rangeCacheOf } from './range-cache.js';
import { hasAllWeights, hasNoWeights } from './whole.js';

/** A path, whatever it is spelt like. */
const localFiles: ModelPlace = {
  find: async (model) => {
    const path = resolve(model);
    if (!(await exists(path))) return { tried: path };
    const hub = hubRevisionOf(path);
    const name = hub !== undefined && hub.inside === undefined ? hub.id : withoutExtension(basename(path));
    return { name, path, ...(hub === undefined ? {} : { hub }) };
  },
};

/**
 * A model of the hub: in the hub's cache, unless that lacks weights of it which the cache of ranges has, in part
 * or whole. One of which only side files are here, as an emptied cache of ranges leaves it, is not found.
 */
const hubModels: ModelPlace = {
  find: async (model) => {
    const found = await hubCache.find(model);
    if (found !== undefined && 'path' in found && (await hasAllWeights(found.path))) return found;
    const inRanges = await rangeCacheOf(model);
    if (inRanges !== undefined || found === undefined || !('path' in found)) return inRanges ?? found;
    return (await hasNoWeights(found.path)) ? { tried: found.path } : found;
  },
};

/** In the order in which they are asked. */
const places: readonly ModelPlace[] = [localFiles, hubModels];

/**
 * Finds a model: a path, or `org/name[@revision]` in the local caches of the hub. Asks no network. A path that exists goes before a
 * hub name, and `NAME=` before either gives it a name of its own.
 *
 * @throws LayerloomError MODEL_NOT_FOUND, which says what was tried
 */
export const locate = async (model: string): Promise<Location> => {
  const tried: string[] = [];
  for (const place of places) {
    const found = await place.find(model);
    if (found === undefined) continue;
    if ('path' in found) return found;
    tried.push(found.tried);
  }
  const named = splitName(model);
  if (named !== undefined) return { ...(await locate(named.rest)), name: named.name };
  const fetch = downloadCommand(model);
  throw new LayerloomError('MODEL_NOT_FOUND', { model, tried, ...(fetch === undefined ? {} : { fetch }) });
};
