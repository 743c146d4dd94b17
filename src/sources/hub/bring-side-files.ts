import { LayerloomError } from '../../base/errors.js';
import { valueAt } from '../../base/lookup.js';
import { visible } from '../../base/visible.js';
import { adapterConfigName, adapterWeightsName } from '../../checkpoint/file-names.js';
import type { ContainerFormat } from '../../checkpoint/formats/format.js';
import { formats } from '../../checkpoint/formats/formats.js';
import { isFetchedSideFile } from '../../checkpoint/side-files.js';
import { mostSideFileBytes, readSideFile } from '../../checkpoint/small-file.js';
import { contentCheck, type HubCacheCommit, pointerPath, putSmallFile } from './cache/cache-writer.js';
import { eachOf } from './requests/each.js';
import { type ListedFile, RemoteFile } from './requests/remote-file.js';
import { type HubSession, mostRequests } from './requests/session.js';

/** The files of a commit that make a checkpoint. */
export interface CheckpointFiles {
  /** With the index, where there is one. */
  readonly sideFiles: readonly ListedFile[];
  readonly weights: readonly ListedFile[];
}

/**
 * Brings the side files of a commit into the hub's cache. The index comes first: it says which files are
 * weights.
 *
 * @throws LayerloomError NOT_A_CHECKPOINT where there is no safetensors, or a side file is too large;
 *   FILE_MISSING, INDEX_INVALID, INDEX_UNSAFE_NAME; the codes of `RemoteFile.read`
 */
export const bringSideFiles = async (
  hub: HubSession,
  at: HubCacheCommit,
  files: ReadonlyMap<string, ListedFile>,
): Promise<CheckpointFiles> => {
  const format = formats.find((one) => files.has(one.shardName(0, 1)) || files.has(one.indexName));
  if (format === undefined && files.has(adapterConfigName) && files.has(adapterWeightsName))
    return await bringAdapter(hub, at, files);
  if (format === undefined) throw noWeights(at.id, [...files.keys()]);
  const { indexName } = format;
  const sideFiles = [...files.values()].filter(({ name }) => isFetchedSideFile(name) || name === indexName);
  const names = new Set([format.shardName(0, 1)].filter((name) => files.has(name)));
  const index = files.get(indexName);
  if (index !== undefined) {
    await bringSideFile(hub, at, index);
    const text = (await readSideFile(pointerPath(at, indexName))).toString();
    const neededBy = `${at.id}/${indexName}`;
    for (const name of format.parseIndex(text, neededBy).values()) {
      const refused = refusedName(name, format);
      if (refused !== undefined)
        throw new LayerloomError('INDEX_INVALID', {
          file: neededBy,
          reason: `its weight_map names ${visible(name)}, which is ${refused}`,
        });
      if (!files.has(name)) throw new LayerloomError('FILE_MISSING', { file: `${at.id}/${name}`, neededBy });
      names.add(name);
    }
  }
  await eachOf(hub, sideFiles, mostRequests, (file) => bringSideFile(hub, at, file));
  return { sideFiles, weights: [...names].sort().map((name) => valueAt(files, name)) };
};

/** An adapter's configuration is read like a side file; its weights are one file. */
const bringAdapter = async (
  hub: HubSession,
  at: HubCacheCommit,
  files: ReadonlyMap<string, ListedFile>,
): Promise<CheckpointFiles> => {
  const sideFiles = [...files.values()].filter(
    ({ name }) => isFetchedSideFile(name) || name === adapterConfigName,
  );
  await eachOf(hub, sideFiles, mostRequests, (file) => bringSideFile(hub, at, file));
  return { sideFiles, weights: [valueAt(files, adapterWeightsName)] };
};

/** Says why a file that an index names is not fetched: a hidden one could take the place of the cache's records. */
const refusedName = (name: string, { extension }: ContainerFormat): string | undefined => {
  if (!name.endsWith(extension)) return `no ${extension} file; nothing else is fetched`;
  return /(^|\/)\./.test(name) ? 'hidden; nothing hidden is fetched' : undefined;
};

const bringSideFile = (hub: HubSession, at: HubCacheCommit, file: ListedFile): Promise<void> => {
  const { name, bytes } = file;
  if (bytes > mostSideFileBytes)
    throw new LayerloomError('NOT_A_CHECKPOINT', {
      path: at.id,
      reason: `its ${name} has ${bytes} bytes, and a file beside weights at most ${mostSideFileBytes}`,
    });
  return putSmallFile(at, file, hub.signal, async () => {
    const content = await new RemoteFile(hub, at, file).readBytes(0, bytes);
    const check = contentCheck(file);
    check.update(content);
    const expected = check.mismatch();
    if (expected !== undefined)
      throw new LayerloomError('HUB_FILE_CHANGED', {
        model: at.id,
        file: name,
        reason: `came with other bytes than the hub's hash ${expected} says`,
      });
    return content;
  });
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
