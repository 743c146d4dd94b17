import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { argument, layerloomCommand } from '../../base/errors/command-line.js';
import { LayerloomError } from '../../base/errors/errors.js';
import { exists } from '../../base/files/exists.js';
import { reading } from '../../base/files/writing.js';
import { counted } from '../../base/format.js';
import type { ContainerReader, WeightsIndex } from './containers/container-reader.js';
import {
  findWeights,
  isIndexRead,
  isWeightsName,
  readerOf,
  readerOfIndex,
  readers,
  type WeightsFound,
  whyNoWeights,
} from './containers/containers.js';
import { isPart } from './containers/safetensors/parts.js';
import { fileOfOnlyRank, isOfRank, joinRanks } from './containers/torch/refusals.js';
import { adapterWeightsNames, configName } from './files/file-names.js';
import { readJsonObject } from './files/json.js';
import { checkpointName } from './files/run-folder.js';
import { readSideFile } from './files/small-file.js';
import { listModuleWeights, modulesName } from './module-folders.js';

export interface ShardIndexFile {
  readonly path: string;
  readonly weightMap: ReadonlyMap<string, string>;
}

export interface ModelFiles {
  readonly reader: ContainerReader;
  /** The directory of side files; undefined for a bare file without any. */
  readonly folder: string | undefined;
  readonly weights: readonly string[];
  /** Weights of sentence-transformers modules, relative to the folder. */
  readonly modules: readonly string[];
  readonly index?: ShardIndexFile;
  readonly unread: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Finds a model's files at a path: a directory, an index, or a weight file.
 *
 * @throws NOT_A_CHECKPOINT, INDEX_INVALID, INDEX_UNSAFE_NAME, CONFIG_INVALID, READ_FAILED
 */
export const findModelFiles = async (path: string): Promise<ModelFiles> => {
  if ((await stat(path)).isDirectory()) return await inDirectory(path, await namesOf(path));
  return await inFile(path, dirname(path));
};

const inFile = async (path: string, folder: string): Promise<ModelFiles> => {
  const ofIndex = readerOfIndex(basename(path));
  if (ofIndex?.index !== undefined) {
    const index = await readIndex(ofIndex.index, path);
    return await withFolder(folder, { reader: ofIndex, files: index.files, index });
  }
  if (!isWeightsName(path))
    throw new LayerloomError('NOT_A_CHECKPOINT', {
      path,
      reason: `is no file of weights (${[...new Set(readers.map(({ extension }) => extension))].join(', ')}); give the directory of a model`,
    });
  if (readerOf(path).isInFolder === true)
    throw new LayerloomError('NOT_A_CHECKPOINT', {
      path,
      reason: `is one file of ${readerOf(path).name}; give its directory, ${folder}`,
    });
  const bare = { reader: readerOf(path), files: [basename(path)] };
  if (await isWhole(path)) return await withFolder(folder, bare);
  return { reader: bare.reader, folder: undefined, weights: [path], modules: [], unread: [], warnings: [] };
};

/** True for a single file that its directory's `config.json` describes. */
const isWhole = async (path: string): Promise<boolean> =>
  !/-\d{5}-of-\d{5}\./.test(basename(path)) &&
  readerOf(path).carriesSideFiles !== true &&
  (await exists(join(dirname(path), configName)));

const namesOf = (directory: string): Promise<string[]> => reading(directory, () => readdir(directory));

interface Chosen {
  readonly reader: ContainerReader;
  readonly files: readonly string[];
  readonly index?: ShardIndexFile;
  readonly warnings?: readonly string[];
}

const withFolder = async (
  folder: string,
  { reader, files, index, warnings = [] }: Chosen,
): Promise<ModelFiles> => {
  const names = await namesOf(folder);
  const beside = reader.isInFolder === true ? await folderOfConfig(folder, names) : folder;
  const isRead = new Set([...files, ...adapterWeightsNames]);
  return {
    reader,
    folder: beside,
    weights: files.map((name) => join(folder, name)),
    modules: await listModuleWeights(folder),
    ...(index === undefined ? {} : { index }),
    unread: names.filter((name) => name.endsWith(reader.extension) && !isRead.has(name)).sort(),
    warnings:
      beside === folder
        ? warnings
        : [...warnings, `${folder} has no ${configName}; the one of ${beside} is read`],
  };
};

/** Trainers save a distributed checkpoint in a folder of their checkpoint. */
const folderOfConfig = async (folder: string, names: readonly string[]): Promise<string> =>
  !names.includes(configName) && (await exists(join(folder, '..', configName))) ? dirname(folder) : folder;

/**
 * True if file names show weights that loaders use by default, which excludes GGUF.
 *
 * @throws CONFIG_INVALID, READ_FAILED
 */
export const hasModel = async (directory: string, names: readonly string[]): Promise<boolean> =>
  findWeights(names.filter((name) => readerOf(name).carriesSideFiles !== true)) !== undefined ||
  (await namedInConfig(directory, names)) !== undefined;

/** Folder in a trainer's checkpoint where Accelerate saves a model sharded by FSDP. */
const fsdpFolder = 'pytorch_model_fsdp_0';

/** Folders where DeepSpeed saves steps; a file beside them names the last step. */
const stepFolder = /^global_step\d+$/;
const latestName = 'latest';

const innerFolder = async (directory: string, names: readonly string[]): Promise<string | undefined> => {
  if (names.includes(fsdpFolder)) return fsdpFolder;
  const steps = names.filter((name) => stepFolder.test(name)).sort();
  if (steps.length === 0) return undefined;
  const latest = names.includes(latestName)
    ? (await readSideFile(join(directory, latestName))).toString().trim()
    : undefined;
  if (latest === undefined ? steps.length === 1 : steps.includes(latest)) return latest ?? steps[0];
  const which =
    latest === undefined ? `no file ${latestName} that says which` : `a ${latestName} that names none`;
  throw new LayerloomError('NOT_A_CHECKPOINT', {
    path: directory,
    reason: `has DeepSpeed’s folders ${steps.join(', ')}, and ${which}; give one, such as ${join(directory, String(steps.at(-1)))}`,
  });
};

const inDirectory = async (directory: string, names: readonly string[]): Promise<ModelFiles> => {
  const named = await namedInConfig(directory, names);
  if (named !== undefined) return await inFile(join(directory, named), directory);
  const found = findWeights(names);
  const inner = found === undefined ? await innerFolder(directory, names) : undefined;
  if (inner !== undefined) {
    const folder = join(directory, inner);
    return await inDirectory(folder, await namesOf(folder));
  }
  if (found === undefined)
    throw new LayerloomError('NOT_A_CHECKPOINT', { path: directory, reason: whyNot(names, directory) });
  const { reader, index } = found;
  const own = index === undefined ? undefined : await readIndex(index, join(directory, index.name));
  return await withFolder(directory, { reader, ...chooseFiles(directory, found, own) });
};

export const weightsKey = 'transformers_weights';

/** Returns the file named by `transformers_weights`, which transformers prefers to other weights. */
const namedInConfig = async (directory: string, names: readonly string[]): Promise<string | undefined> => {
  if (!names.includes(configName)) return undefined;
  const file = join(directory, configName);
  const name = (await readJsonObject(file))[weightsKey];
  if (name === undefined || name === null) return undefined;
  if (typeof name === 'string' && /^[^/\\]+\.safetensors(\.index\.json)?$/.test(name)) return name;
  throw new LayerloomError('CONFIG_INVALID', {
    file,
    reason: `its ${weightsKey} names no .safetensors file of this directory; correct or remove it`,
  });
};

const readIndex = async (
  index: WeightsIndex,
  path: string,
): Promise<ShardIndexFile & { readonly files: readonly string[] }> => {
  const weightMap = index.parse(await readSideFile(path), path);
  return { path, weightMap, files: [...new Set(weightMap.values())].sort() };
};

/** Chooses between a whole file and an index. Like transformers, prefers the whole file. */
const chooseFiles = (
  directory: string,
  found: WeightsFound,
  index: (ShardIndexFile & { readonly files: readonly string[] }) | undefined,
): Pick<Chosen, 'files' | 'index' | 'warnings'> => {
  const { files } = found;
  const [whole] = files;
  if (index === undefined) return { files };
  if (whole === undefined || index.files.join() === files.join()) return { files: index.files, index };
  // Loaders would miss the tensors in other files.
  if (isIndexRead(found, index.files))
    throw new LayerloomError('NOT_A_CHECKPOINT', {
      path: directory,
      reason: `has both ${whole} and an index of other files; give ${join(directory, whole)} or ${index.path} to name the one that is meant`,
    });
  return {
    files,
    warnings: [
      `${index.path} names other files (${index.files[0]}${index.files.length > 1 ? ', …' : ''}) and is not read: ${whole} is the model, as loaders take it`,
    ],
  };
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
  const { isInFolder, name, index } = readerOf(String(loose[0]));
  if (isInFolder === true)
    return whyNoWeights(
      names,
      `it has ${counted(loose.length, 'file')} of ${name} and no ${index?.name}, which is written last: its save has not finished, or its copy is incomplete`,
    );
  if (loose.every(isPart))
    return whyNoWeights(
      names,
      'its files hold parts of tensors, as HuggingFaceStorageWriter saves them; join them into whole tensors with torch.distributed.checkpoint._consolidate_hf_safetensors.consolidate_safetensors_files, and give the result',
    );
  const only = loose.length === 1 ? loose[0] : loose.find((name) => name === fileOfOnlyRank);
  if (only !== undefined)
    return whyNoWeights(names, `give ${join(directory, only)} itself if that is the checkpoint`);
  if (loose.some(isOfRank)) return whyNoWeights(names, `its files hold parts of tensors; ${joinRanks}`);
  return whyNoWeights(
    names,
    `it has ${counted(loose.length, 'file')} of weights${readerOf(String(loose[0])).index === undefined ? '; give' : ' and no index of them; download the index too, or give'} one of them, such as ${join(directory, String(loose[0]))}`,
  );
};
