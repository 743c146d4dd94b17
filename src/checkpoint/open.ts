import { constants, open, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type FoundModel, originOf } from '../address/found-model.js';
import { LayerloomError, reasonOf } from '../base/errors.js';
import type { TensorReference } from '../tensor/reference.js';
import type { CheckpointIndex, FileIdentity } from './checkpoint.js';
import { withFewFiles } from './few-at-once.js';
import { adapterConfigName } from './file-names.js';
import type { ContainerFormat, FileHeader } from './formats/format.js';
import { formatOf, formats, isWeightsName } from './formats/formats.js';
import { readJsonObject } from './json.js';
import { listSideFiles } from './side-files.js';
import { readSideFile } from './small-file.js';

/** Returns the hash that is stated of a file's content, by which it is identified; undefined where none is. */
export type StatedContent = (path: string) => Promise<string | undefined>;

/**
 * Opens a checkpoint that was found: a directory with `model.safetensors` or an index with shards, or one `.safetensors`
 * file. Headers, `config.json` and names of side files are read; weights are not.
 *
 * @throws LayerloomError NOT_A_CHECKPOINT, ADAPTER_WITHOUT_BASE, FILE_MISSING, TENSOR_MISSING, DUPLICATE_TENSOR, READ_FAILED, CONFIG_INVALID
 *   and the codes of its format
 */
export const openFound = async (
  found: FoundModel,
  statedContent: StatedContent,
): Promise<CheckpointIndex> => {
  const { name, path } = found;
  const isDirectory = (await stat(path)).isDirectory();
  const weights = isDirectory ? await findWeights(path) : { files: [checkBareFile(path)] };
  const files = await Promise.all(
    weights.files.map((file) =>
      withFewFiles(() => openFile(file, weights.index?.path ?? path, statedContent)),
    ),
  );
  const tensors = collect(files);
  if (tensors.size === 0)
    throw new LayerloomError('NOT_A_CHECKPOINT', {
      path,
      reason: 'holds no tensors; download or write it again',
    });
  const warnings = weights.index === undefined ? [] : checkAgainstIndex(tensors, files, weights.index);
  const sideFiles = isDirectory ? await listSideFiles(path) : [];
  const config = sideFiles.includes('config.json')
    ? await readJsonObject(join(path, 'config.json'))
    : undefined;
  return {
    name,
    path,
    ...originOf(found),
    files: files.map(({ identity }) => identity),
    metadata: files.map(({ header }) => header.metadata),
    tensors,
    config,
    sideFiles,
    warnings,
  };
};

interface ShardIndexFile {
  readonly path: string;
  readonly weightMap: ReadonlyMap<string, string>;
}

const findWeights = async (directory: string): Promise<{ files: string[]; index?: ShardIndexFile }> => {
  const names = await readdir(directory).catch((cause: unknown) => {
    throw new LayerloomError('READ_FAILED', { file: directory, reason: reasonOf(cause) }, { cause });
  });
  const format = formats.find((one) => namesIn(one).some((name) => names.includes(name)));
  if (format === undefined && names.includes(adapterConfigName))
    throw new LayerloomError('ADAPTER_WITHOUT_BASE', { adapter: directory });
  if (format === undefined)
    throw new LayerloomError('NOT_A_CHECKPOINT', { path: directory, reason: whyNot(names) });
  const [singleName, indexName] = namesIn(format);
  const single = join(directory, singleName);
  const hasSingle = names.includes(singleName);
  if (!names.includes(indexName)) return { files: [single] };
  const path = join(directory, indexName);
  const weightMap = format.parseIndex((await readSideFile(path)).toString(), path);
  const files = [...new Set(weightMap.values())].sort().map((file) => join(directory, file));
  // Some write an index also of one file; beside other files one cannot tell which is meant.
  if (hasSingle && files.join() !== single)
    throw new LayerloomError('NOT_A_CHECKPOINT', {
      path: directory,
      reason: `has both ${singleName} and an index of other files; remove one, or give the file itself`,
    });
  return { files, index: { path, weightMap } };
};

/** The file of a checkpoint that is one file, and the index of one that is several. */
const namesIn = ({ shardName, indexName }: ContainerFormat) => [shardName(0, 1), indexName] as const;

const whyNot = (names: readonly string[]): string => {
  const wanted = `has neither ${formats.flatMap(namesIn).join(' nor ')}`;
  const loose = names.filter((name) => isWeightsName(name));
  if (names.includes('adapter_model.safetensors'))
    return `${wanted}: it is an adapter without its ${adapterConfigName}; download or copy that too`;
  if (loose.length === 1) return `${wanted}; give ${loose[0]} itself if that is the checkpoint`;
  if (loose.length > 1)
    return `${wanted}, though it has ${loose.length} other .safetensors files; download the index too`;
  if (names.some((name) => /\.(bin|pth?)$/.test(name)))
    return `${wanted}; convert its PyTorch files to safetensors first`;
  return `${wanted}; give the directory of a checkpoint`;
};

const checkBareFile = (path: string): string => {
  if (!isWeightsName(path))
    throw new LayerloomError('NOT_A_CHECKPOINT', {
      path,
      reason: `is neither a directory nor a ${formats.map(({ extension }) => extension).join(' or ')} file; give the directory of a checkpoint`,
    });
  return path;
};

interface OpenedFile {
  readonly identity: FileIdentity;
  readonly header: FileHeader;
}

const openFile = async (
  path: string,
  neededBy: string,
  statedContent: StatedContent,
): Promise<OpenedFile> => {
  // Without waiting for a pipe's other end: what is no file is refused below.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(
    (cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ENOENT')
        throw new LayerloomError('FILE_MISSING', { file: path, neededBy }, { cause });
      throw new LayerloomError('READ_FAILED', { file: path, reason: reasonOf(cause) }, { cause });
    },
  );
  try {
    const found = await handle.stat({ bigint: true });
    if (!found.isFile()) throw new Error('it is not a file');
    const { size, mtimeNs } = found;
    const bytes = Number(size);
    const format = formatOf(path);
    const known = await statedContent(path);
    const { content, hash } = await format.readHeader(handle, path, bytes);
    return {
      identity: {
        ...{ path, bytes, mtimeNs: known === undefined ? String(mtimeNs) : '0', header: hash },
        ...(known === undefined ? {} : { content: known }),
      },
      header: format.parseHeader(content, path, bytes),
    };
  } catch (cause) {
    if (cause instanceof LayerloomError) throw cause;
    throw new LayerloomError('READ_FAILED', { file: path, reason: reasonOf(cause) }, { cause });
  } finally {
    await handle.close();
  }
};

const collect = (files: readonly OpenedFile[]): Map<string, TensorReference> => {
  const tensors = new Map<string, TensorReference>();
  for (const [file, { identity, header }] of files.entries()) {
    const inOrder = [...header.tensors].sort(([, a], [, b]) => a.begin - b.begin || a.end - b.end);
    for (const [name, { begin, end, dtype, shape }] of inOrder) {
      const twin = tensors.get(name);
      if (twin !== undefined)
        throw new LayerloomError('DUPLICATE_TENSOR', {
          file: identity.path,
          tensor: name,
          alsoIn: files[twin.file]?.identity.path ?? '',
        });
      tensors.set(name, { file, begin, end, dtype, shape });
    }
  }
  return tensors;
};

const checkAgainstIndex = (
  tensors: ReadonlyMap<string, TensorReference>,
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
