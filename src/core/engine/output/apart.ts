import { lstat, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { LayerloomError } from '../../base/errors/errors.js';
import { parseAddress, partsOf } from '../../models/address/address.js';
import { type FoundWithAdapter, foundModels } from '../../models/address/found-model.js';
import { storeMarkerName } from '../../models/checkpoint/files/file-names.js';
import { locateIfHere } from '../../models/sources/locate.js';

/** Returns the kind of a path; a dangling symbolic link is `other`. */
export const kindOf = async (path: string): Promise<'absent' | 'directory' | 'other'> => {
  const named = await lstat(path).catch(() => undefined);
  if (named === undefined) return 'absent';
  const found = named.isSymbolicLink() ? await stat(path).catch(() => undefined) : named;
  return found?.isDirectory() ? 'directory' : 'other';
};

/** Resolves a path's links. If the path does not exist, resolves its nearest existing ancestor. */
export const realPathOf = async (path: string): Promise<string> => {
  try {
    return await realpath(path);
  } catch (error) {
    if (dirname(path) === path) throw error;
    return join(await realPathOf(dirname(path)), basename(path));
  }
};

export const isInside = (path: string, directory: string): boolean => {
  const way = relative(directory, path);
  return way === '' || !(way === '..' || way.startsWith(`..${sep}`));
};

/** @throws OUTPUT_INSIDE_INPUT, also if `out` is an input's directory */
export const checkApart = async (out: string, inputs: readonly FoundWithAdapter[]): Promise<void> => {
  const place = await realPathOf(resolve(out));
  for (const { path } of inputs.flatMap(foundModels))
    if ((await kindOf(path)) === 'directory' && isInside(place, await realPathOf(path)))
      throw new LayerloomError('OUTPUT_INSIDE_INPUT', { out: place, input: path });
};

/**
 * Refuses an output that is or lies in a store, because stores remove files.
 *
 * @throws OUTPUT_INVALID
 */
export const checkOutsideStores = async (out: string): Promise<void> => {
  const place = await realPathOf(resolve(out));
  for (let at = place; ; at = dirname(at)) {
    if ((await kindOf(join(at, storeMarkerName))) !== 'absent')
      throw new LayerloomError('OUTPUT_INVALID', {
        out: place,
        reason: `${at === place ? 'is' : `is in ${at},`} a store; choose another output`,
      });
    if (at === dirname(at)) return;
  }
};

/** Checks that an output is apart from named models. Skips models that are not found. */
export const checkApartFrom = async (out: string, models: Iterable<string>): Promise<void> => {
  for (const model of new Set(models))
    for (const part of partsOf(await parseAddress(model))) {
      const found = await locateIfHere(part);
      if (found !== undefined) await checkApart(out, [found]);
    }
};
