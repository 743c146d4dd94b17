import { LayerloomError } from '../../base/errors.js';
import { valueAt } from '../../base/lookup.js';
import { visible } from '../../base/visible.js';
import { adapterConfigName, adapterWeightsName } from '../../checkpoint/file-names.js';
import type { ContainerFormat } from '../../checkpoint/formats/format.js';
import { formats } from '../../checkpoint/formats/formats.js';
import { isFetchedSideFile } from '../../checkpoint/side-files.js';

/** The files of a listed model that make a checkpoint. */
export interface CheckpointFiles<File> {
  /** With the index, where there is one. */
  readonly sideFiles: readonly File[];
  readonly weights: readonly File[];
}

/**
 * Chooses the files of a model that are fetched: never code, pickles, or weights that the index does not name.
 *
 * @param id of the model, for messages
 * @param readIndex returns the text of the index, which says which files are weights
 * @throws LayerloomError NOT_A_CHECKPOINT where there is no safetensors; FILE_MISSING, INDEX_INVALID, INDEX_UNSAFE_NAME;
 *   what `readIndex` throws
 */
export const chooseFiles = async <File extends { readonly name: string }>(
  id: string,
  files: ReadonlyMap<string, File>,
  readIndex: (index: File) => Promise<string>,
): Promise<CheckpointFiles<File>> => {
  const format = formats.find((one) => files.has(one.shardName(0, 1)) || files.has(one.indexName));
  if (format === undefined && !(files.has(adapterConfigName) && files.has(adapterWeightsName)))
    throw noWeights(id, [...files.keys()]);
  // An adapter's configuration is read like a side file; its weights are one file.
  const { main, single } =
    format === undefined
      ? { main: adapterConfigName, single: adapterWeightsName }
      : { main: format.indexName, single: format.shardName(0, 1) };
  const sideFiles = [...files.values()].filter(({ name }) => isFetchedSideFile(name) || name === main);
  const names = new Set([single].filter((name) => files.has(name)));
  const index = format === undefined ? undefined : files.get(main);
  if (format !== undefined && index !== undefined) {
    const neededBy = `${id}/${main}`;
    for (const name of format.parseIndex(await readIndex(index), neededBy).values()) {
      const refused = refusedName(name, format);
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
const refusedName = (name: string, { extension }: ContainerFormat): string | undefined => {
  if (!name.endsWith(extension)) return `no ${extension} file; nothing else is fetched`;
  return /(^|\/)\./.test(name) ? 'hidden; nothing hidden is fetched' : undefined;
};

const noWeights = (id: string, names: readonly string[]): LayerloomError => {
  const wanted = formats.flatMap(({ shardName, indexName }) => [shardName(0, 1), indexName]).join(' nor ');
  const remedy = (): string => {
    if (names.includes(adapterWeightsName)) return `it is an adapter without its ${adapterConfigName}`;
    if (names.some((name) => /\.(bin|pth?)$/.test(name)))
      return 'its weights are pickles, which are never fetched; look for a branch or a model of safetensors';
    if (names.some((name) => name.endsWith('.gguf')))
      return 'its weights are GGUF; merge the model that they were made of';
    return 'give a model with weights in safetensors';
  };
  return new LayerloomError('NOT_A_CHECKPOINT', { path: id, reason: `has neither ${wanted}: ${remedy()}` });
};
