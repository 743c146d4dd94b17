import { constants, open, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type FoundModel, originOf } from '../address/found-model.js';
import { argument, layerloomCommand } from '../base/command-line.js';
import { LayerloomError, reasonOf } from '../base/errors.js';
import { itemAt } from '../base/lookup.js';
import type { TensorReference } from '../tensor/reference.js';
import type { CheckpointIndex, FileIdentity } from './checkpoint.js';
import type { ContainerReader, FileHeader } from './containers/container-reader.js';
import { findWeights, isWeightsName, readerOf, readers, whyNoWeights } from './containers/containers.js';
import { readHeaderOf } from './containers/read-header.js';
import { type MissingBytes, readDescriptions } from './descriptions.js';
import { withFewFiles } from './few-at-once.js';
import { adapterConfigName } from './file-names.js';
import { listModuleWeights, modulesName } from './module-folders.js';
import { checkpointName } from './run-folder.js';
import { sideFileObject } from './side-file-content.js';
import { listSideFiles } from './side-files.js';
import { readSideFile } from './small-file.js';

/** What is known of files of weights where they come from. */
export interface KnownOfFiles {
  /** Returns the hash that is stated of a file's content, by which it is identified; undefined where none is. */
  readonly statedContent: (path: string) => Promise<string | undefined>;
  readonly missingBytes: MissingBytes;
}

/**
 * Opens a checkpoint that was found: a directory in which a container's reader finds weights, or one file of weights.
 * Headers, `config.json`, descriptions and names of side files are read; weights are not.
 *
 * @throws LayerloomError NOT_A_CHECKPOINT, ADAPTER_WITHOUT_BASE, FILE_MISSING, TENSOR_MISSING, DUPLICATE_TENSOR, READ_FAILED, CONFIG_INVALID
 *   and the codes of its container
 */
export const openFound = async (found: FoundModel, known: KnownOfFiles): Promise<CheckpointIndex> => {
  const { name, path } = found;
  const isDirectory = (await stat(path)).isDirectory();
  const weights = isDirectory ? await weightsOf(path) : bareFile(path);
  const openEach = (these: readonly string[]) =>
    Promise.all(
      these.map((file) =>
        withFewFiles(() => openFile(weights.reader, file, weights.index?.path ?? path, known)),
      ),
    );
  const own = await openEach(weights.files);
  const inModules = isDirectory ? await listModuleWeights(path) : [];
  const modules = await openEach(inModules.map((file) => join(path, file)));
  const files = [...own, ...modules.map((file, index) => inFolder(dirname(itemAt(inModules, index)), file))];
  const tensors = collect(files);
  if (tensors.size === 0)
    throw new LayerloomError('NOT_A_CHECKPOINT', {
      path,
      reason: 'holds no tensors; download or write it again',
    });
  const warnings =
    weights.index === undefined
      ? []
      : checkAgainstIndex(modules.length === 0 ? tensors : collect(own), own, weights.index);
  const beside = isDirectory ? await listSideFiles(path) : [];
  const carried = new Map(
    files.flatMap(({ header }) => [...(header.sideFiles ?? [])]).filter(([file]) => !beside.includes(file)),
  );
  const sideFiles = [...beside, ...carried.keys()].sort();
  const descriptions = new Map(files.flatMap((file) => file.descriptions));
  return {
    name,
    path,
    ...originOf(found),
    files: files.map(({ identity }) => identity),
    metadata: files.map(({ header }) => header.metadata),
    tensors,
    config: await sideFileObject({ path, sideFiles, carried }, 'config.json'),
    sideFiles,
    ...(carried.size === 0 ? {} : { carried }),
    ...(descriptions.size === 0 ? {} : { descriptions }),
    warnings,
  };
};

interface ShardIndexFile {
  readonly path: string;
  readonly weightMap: ReadonlyMap<string, string>;
}

interface WeightFiles {
  readonly reader: ContainerReader;
  /** Absolute. */
  readonly files: readonly string[];
  readonly index?: ShardIndexFile;
}

const weightsOf = async (directory: string): Promise<WeightFiles> => {
  const names = await readdir(directory).catch((cause: unknown) => {
    throw new LayerloomError('READ_FAILED', { file: directory, reason: reasonOf(cause) }, { cause });
  });
  const found = findWeights(names);
  if (found === undefined && names.includes(adapterConfigName))
    throw new LayerloomError('ADAPTER_WITHOUT_BASE', { adapter: directory });
  if (found === undefined)
    throw new LayerloomError('NOT_A_CHECKPOINT', { path: directory, reason: whyNot(names, directory) });
  const { reader, index } = found;
  const whole = found.files.map((name) => join(directory, name));
  if (index === undefined) return { reader, files: whole };
  const path = join(directory, index.name);
  const weightMap = index.parse(await readSideFile(path), path);
  const files = [...new Set(weightMap.values())].sort().map((file) => join(directory, file));
  // Some write an index also of one file; beside other files one cannot tell which is meant.
  if (whole.length > 0 && files.join() !== whole.join())
    throw new LayerloomError('NOT_A_CHECKPOINT', {
      path: directory,
      reason: `has both ${found.files.join(', ')} and an index of other files; remove one, or give the file itself`,
    });
  return { reader, files, index: { path, weightMap } };
};

const whyNot = (names: readonly string[], directory: string): string => {
  if (names.includes(modulesName) && names.includes('0_Transformer'))
    return whyNoWeights(
      names,
      'its weights are in 0_Transformer; load and save it by a newer sentence-transformers',
    );
  const saved = names.find((name) => checkpointName.test(name));
  if (saved !== undefined)
    return whyNoWeights(
      names,
      `it holds the checkpoints of a run; give one of them, such as ${saved}, or average them with \`${layerloomCommand('soup', argument(directory), '--schedule', 'uniform')}\``,
    );
  const loose =
    readers
      .map(({ extension }) => names.filter((name) => name.endsWith(extension)))
      .find(({ length }) => length > 0) ?? [];
  if (loose.length === 0) return whyNoWeights(names);
  if (loose.length === 1) return whyNoWeights(names, `give ${loose[0]} itself if that is the checkpoint`);
  return whyNoWeights(
    names,
    `it has ${loose.length} other files of weights; download the index too, or give one of them`,
  );
};

const bareFile = (path: string): WeightFiles => {
  if (!isWeightsName(path))
    throw new LayerloomError('NOT_A_CHECKPOINT', {
      path,
      reason: `is neither a directory nor a ${[...new Set(readers.map(({ extension }) => extension))].join(' or ')} file; give the directory of a checkpoint`,
    });
  return { reader: readerOf(path), files: [path] };
};

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
    if (cause instanceof LayerloomError) throw cause;
    throw new LayerloomError('READ_FAILED', { file: path, reason: reasonOf(cause) }, { cause });
  } finally {
    await handle.close();
  }
};

/** The file of a module: its tensors are named by the folder too. */
const inFolder = (folder: string, { header, ...file }: OpenedFile): OpenedFile => ({
  ...file,
  header: {
    ...header,
    tensors: new Map([...header.tensors].map(([name, tensor]) => [`${folder}/${name}`, tensor])),
  },
});

const collect = (files: readonly OpenedFile[]): Map<string, TensorReference> => {
  const tensors = new Map<string, TensorReference>();
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
