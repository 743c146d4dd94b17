import { dirname, join } from 'node:path';
import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import { readFailed } from '../../base/files/writing.js';
import { type FoundModel, originOf } from '../address/found-model.js';
import type { CheckpointIndex, FileIdentity } from './checkpoint.js';
import type { ContainerReader, FileHeader } from './containers/container-reader.js';
import { readHeaderOf } from './containers/read-header.js';
import { type MissingBytes, readDescriptions } from './descriptions.js';
import { withFewFiles } from './files/few-at-once.js';
import { configName } from './files/file-names.js';
import { type OpenInput, openInput } from './files/open-input.js';
import { readRange } from './files/read-block.js';
import { findModelFiles, type ShardIndexFile, weightsKey } from './find-files.js';
import { type FoundTensor, joined } from './pieces.js';
import { sideFileObject } from './side-file-content.js';
import { listSideFiles } from './side-files.js';

export interface KnownOfFiles {
  /** Returns the stated hash of a file, which then identifies it. */
  readonly statedContent: (path: string) => Promise<string | undefined>;
  readonly missingBytes: MissingBytes;
}

/**
 * Opens a model's files: a directory, an index, or a weight file. Reads headers, `config.json`, descriptions
 * and names of side files, no weights. Only `readModel` (`src/core/models/reading/`) may call this, because
 * it interprets the tensors.
 *
 * @throws FILE_MISSING, TENSOR_MISSING, DUPLICATE_TENSOR, READ_FAILED, CONFIG_INVALID and errors of
 *   `findModelFiles` and the container
 */
export const openFound = async (found: FoundModel, known: KnownOfFiles): Promise<CheckpointIndex> => {
  const { name, path } = found;
  const { reader, folder, weights, modules: inModules, index, unread, warnings } = await findModelFiles(path);
  const openEach = (these: readonly string[]) =>
    Promise.all(these.map((file) => withFewFiles(() => openFile(reader, file, index?.path ?? path, known))));
  const own = await openEach(weights);
  const modules = await openEach(inModules.map((file) => join(folder ?? path, file)));
  const files = [...own, ...modules.map((file, index) => inFolder(dirname(itemAt(inModules, index)), file))];
  const inFiles = collect(files);
  const tensors = joined(
    inFiles,
    files.map(({ identity }) => identity),
  );
  if (tensors.size === 0)
    throw new LayerloomError('NOT_A_CHECKPOINT', {
      path,
      reason: 'holds no tensors; download or write it again',
    });
  const unlisted =
    index === undefined ? [] : checkAgainstIndex(modules.length === 0 ? inFiles : collect(own), own, index);
  const beside = folder === undefined ? [] : await listSideFiles(folder);
  const carried = new Map(
    files.flatMap(({ header }) => [...(header.sideFiles ?? [])]).filter(([file]) => !beside.includes(file)),
  );
  const sideFiles = [...beside, ...carried.keys()].sort();
  const descriptions = new Map(files.flatMap((file) => file.descriptions));
  const place = { path, ...(folder === undefined || folder === path ? {} : { folder }) };
  const { [weightsKey]: named, ...config } =
    (await sideFileObject({ ...place, sideFiles, carried }, configName)) ?? {};
  return {
    name,
    ...place,
    ...originOf(found),
    files: files.map(({ identity }) => identity),
    metadata: files.map(({ header }) => header.metadata),
    tensors,
    config: sideFiles.includes(configName) ? config : undefined,
    // An output's weights have other file names, so its `config.json` must not have this key.
    ...(named === undefined ? {} : { configEdits: { [weightsKey]: undefined } }),
    sideFiles,
    ...(carried.size === 0 ? {} : { carried }),
    ...(descriptions.size === 0 ? {} : { descriptions }),
    ...(unread.length === 0 ? {} : { unread }),
    ...(reader.isInFolder === true ? { notAsLoaded: `it is ${reader.name}` } : {}),
    warnings: [...warnings, ...unlisted],
  };
};

const pointerStart = Buffer.from('version https://git-lfs.github.com/spec/');

/** True for the text that a clone without Git LFS has for each large file. */
const isPointer = async (handle: OpenInput, bytes: number): Promise<boolean> =>
  bytes > pointerStart.length &&
  bytes <= 1024 &&
  pointerStart.equals(await readRange(handle, 0, pointerStart.length));

interface OpenedFile {
  readonly identity: FileIdentity;
  readonly header: FileHeader;
  readonly descriptions: readonly (readonly [string, Uint8Array])[];
}

const openFile = async (
  reader: ContainerReader,
  path: string,
  neededBy: string,
  { statedContent, missingBytes }: KnownOfFiles,
): Promise<OpenedFile> => {
  const handle = await openInput(path).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT')
      throw new LayerloomError('FILE_MISSING', { file: path, neededBy }, { cause });
    throw readFailed(path, cause);
  });
  try {
    const found = await handle.stat({ bigint: true });
    if (!found.isFile()) throw new Error('it is not a file');
    const { size, mtimeNs } = found;
    const bytes = Number(size);
    if (await isPointer(handle, bytes))
      throw new LayerloomError('NOT_A_CHECKPOINT', {
        path,
        reason:
          'is a pointer of Git LFS in place of the weights; fetch them by `git lfs pull`, or `hf download`',
      });
    const known = await statedContent(path);
    const { header: read, hash } = await readHeaderOf(reader, handle, path, bytes);
    const header = reader.parseHeader(read, path, bytes);
    return {
      identity: {
        ...{ path, bytes, mtimeNs: known === undefined ? String(mtimeNs) : '0', header: hash },
        ...(known === undefined ? {} : { content: known }),
      },
      header,
      descriptions: await readDescriptions(handle, path, header, missingBytes),
    };
  } catch (cause) {
    throw readFailed(path, cause);
  } finally {
    await handle.close();
  }
};

const inFolder = (folder: string, { header, ...file }: OpenedFile): OpenedFile => ({
  ...file,
  header: {
    ...header,
    tensors: new Map([...header.tensors].map(([name, tensor]) => [`${folder}/${name}`, tensor])),
  },
});

const collect = (files: readonly OpenedFile[]): Map<string, FoundTensor> => {
  const tensors = new Map<string, FoundTensor>();
  for (const [file, { identity, header }] of files.entries()) {
    const inOrder = [...header.tensors].sort(([, a], [, b]) => a.begin - b.begin || a.end - b.end);
    for (const [name, tensor] of inOrder) {
      const twin = tensors.get(name);
      if (twin !== undefined)
        throw new LayerloomError('DUPLICATE_TENSOR', {
          file: identity.path,
          tensor: name,
          alsoIn: files[twin.file]?.identity.path ?? '',
        });
      tensors.set(name, { file, ...tensor });
    }
  }
  return tensors;
};

const checkAgainstIndex = (
  tensors: ReadonlyMap<string, FoundTensor>,
  files: readonly OpenedFile[],
  index: ShardIndexFile,
): string[] => {
  const directory = dirname(index.path);
  for (const [tensor, shard] of index.weightMap) {
    const file = join(directory, shard);
    const reference = tensors.get(tensor);
    if (reference === undefined || files[reference.file]?.identity.path !== file)
      throw new LayerloomError('TENSOR_MISSING', { index: index.path, file, tensor });
  }
  const unlisted = [...tensors.keys()].filter((name) => !index.weightMap.has(name));
  return unlisted.length === 0
    ? []
    : [
        `${index.path} does not list all that its shards hold (${unlisted.slice(0, 3).join(', ')}${unlisted.length > 3 ? `, … (${unlisted.length} in all)` : ''}); they are merged too`,
      ];
};
