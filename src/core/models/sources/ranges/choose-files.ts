import { LayerloomError } from '../../../base/errors/errors.js';
import { valueAt } from '../../../base/errors/lookup.js';
import { visible } from '../../../base/errors/visible.js';
import type { ContainerReader } from '../../checkpoint/containers/container-reader.js';
import { findWeights, isIndexRead, whyNoWeights } from '../../checkpoint/containers/containers.js';
import { adapterConfigName, adapterWeightsNames } from '../../checkpoint/files/file-names.js';
import { moduleWeightsAmong } from '../../checkpoint/module-folders.js';
import { isFetchedSideFile } from '../../checkpoint/side-files.js';

export interface CheckpointFiles<File> {
  /** Includes the index, if there is one. */
  readonly sideFiles: readonly File[];
  readonly weights: readonly File[];
}

/**
 * Chooses the files to fetch. Excludes code, and weights that the index omits.
 *
 * @throws NOT_A_CHECKPOINT without readable weights; FILE_MISSING, INDEX_INVALID, INDEX_UNSAFE_NAME; errors
 * of `readIndex`
 */
export const chooseFiles = async <File extends { readonly name: string }>(
  id: string,
  files: ReadonlyMap<string, File>,
  readIndex: (index: File) => Promise<string>,
): Promise<CheckpointFiles<File>> => {
  const found = findWeights([...files.keys()]);
  const adapter = files.has(adapterConfigName)
    ? adapterWeightsNames.find((name) => files.has(name))
    : undefined;
  if (found === undefined && adapter === undefined)
    throw new LayerloomError('NOT_A_CHECKPOINT', { path: id, reason: whyNoWeights([...files.keys()]) });
  if (found?.reader.isInFolder === true)
    throw new LayerloomError('NOT_A_CHECKPOINT', {
      path: id,
      reason: `is ${found.reader.name}, which is not read by ranges; download all of it, and give its directory`,
    });
  // An adapter's configuration is fetched even beside a whole model, so that it is noticed.
  const main = [adapterConfigName, found?.index?.name];
  const sideFiles = [...files.values()].filter(({ name }) => isFetchedSideFile(name) || main.includes(name));
  const names = new Set([
    ...(found?.files ?? []),
    ...(adapter === undefined ? [] : [adapter]),
    ...moduleWeightsAmong([...files.keys()]),
  ]);
  if (found?.index !== undefined) {
    const { reader, index } = found;
    const neededBy = `${id}/${index.name}`;
    const places = index.parse(await readIndex(valueAt(files, index.name)), neededBy);
    for (const name of isIndexRead(found, [...places.values()]) ? places.values() : []) {
      const refused = refusedName(name, reader);
      if (refused !== undefined)
        throw new LayerloomError('INDEX_INVALID', {
          file: neededBy,
          reason: `its weight_map names ${visible(name)}, which is ${refused}`,
        });
      if (!files.has(name)) throw new LayerloomError('FILE_MISSING', { file: `${id}/${name}`, neededBy });
      names.add(name);
    }
  }
  return { sideFiles, weights: [...names].sort().map((name) => valueAt(files, name)) };
};

/** Returns why a file in an index is not fetched: a hidden file could overwrite the cache's records. */
const refusedName = (name: string, { extension }: ContainerReader): string | undefined => {
  if (!name.endsWith(extension)) return `no ${extension} file; only these are fetched`;
  return /(^|\/)\./.test(name) ? 'hidden; nothing hidden is fetched' : undefined;
};
