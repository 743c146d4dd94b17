import { LayerloomError } from '../../../base/errors.js';
import { valueAt } from '../../../base/lookup.js';
import { visible } from '../../../base/visible.js';
import type { ContainerReader } from '../../checkpoint/containers/container-reader.js';
import { findWeights, isIndexRead, whyNoWeights } from '../../checkpoint/containers/containers.js';
import { adapterConfigName, adapterWeightsNames } from '../../checkpoint/file-names.js';
import { moduleWeightsAmong } from '../../checkpoint/module-folders.js';
import { isFetchedSideFile } from '../../checkpoint/side-files.js';

/** The files of a listed model that make a checkpoint. */
export interface CheckpointFiles<File> {
  /** With the index, where there is one. */
  readonly sideFiles: readonly File[];
  readonly weights: readonly File[];
}

/**
 * Chooses the files of a model that are fetched: never code, or weights that the index does not name.
 *
 * @param id of the model, for messages
 * @param readIndex returns the text of the index, which says which files are weights
 * @throws LayerloomError NOT_A_CHECKPOINT where there are no weights that are read; FILE_MISSING, INDEX_INVALID, INDEX_UNSAFE_NAME;
 *   what `readIndex` throws
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
  // An adapter's configuration is read like a side file. A model with an adapter beside it has to be seen as such.
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

/** Says why a file that an index names is not fetched: a hidden one could take the place of the cache's records. */
const refusedName = (name: string, { extension }: ContainerReader): string | undefined => {
  if (!name.endsWith(extension)) return `no ${extension} file; nothing else is fetched`;
  return /(^|\/)\./.test(name) ? 'hidden; nothing hidden is fetched' : undefined;
};
