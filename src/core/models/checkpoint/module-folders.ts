import { readdir } from 'node:fs/promises';
import { writer } from './containers/containers.js';

/** Matches the folder of a module of sentence-transformers: `1_Pooling`, `2_Dense`. */
export const moduleFolder = /^\d+_[A-Za-z]\w*$/;

/** The file that lists a model's modules, of which those in folders are behind the model itself. */
export const modulesName = 'modules.json';

/** The weights of a module, in its folder. */
export const moduleWeightsName = writer.shardName(0, 1);

const inModule = /^(?<folder>\d+_[A-Za-z]\w*)\/(?<name>.+)$/;

/** A tensor of a module: the module's folder, and the name that the folder's file has of it. */
export interface InModule {
  readonly folder: string;
  readonly name: string;
}

/** Takes apart the name of a tensor of a module: `2_Dense/linear.weight`; undefined for a tensor of the model itself. */
export const moduleOf = (tensor: string): InModule | undefined => {
  const { folder, name } = inModule.exec(tensor)?.groups ?? {};
  return folder === undefined || name === undefined ? undefined : { folder, name };
};

/** True for the file of a module's weights, as it is called from the model's directory. */
export const isModuleWeights = (file: string): boolean => moduleOf(file)?.name === moduleWeightsName;

/** Returns the files of modules' weights, from the names of all files of a model's directory. */
export const moduleWeightsAmong = (names: readonly string[]): string[] =>
  names.includes(modulesName) ? names.filter(isModuleWeights).sort() : [];

/** Returns the files of modules' weights in a directory. */
export const listModuleWeights = async (directory: string): Promise<string[]> => {
  const entries = await readdir(directory, { withFileTypes: true });
  if (!entries.some(({ name }) => name === modulesName)) return [];
  const folders = entries.filter((entry) => entry.isDirectory() && moduleFolder.test(entry.name));
  const found = await Promise.all(
    folders.map(async ({ name }) =>
      (await readdir(`${directory}/${name}`)).includes(moduleWeightsName)
        ? [`${name}/${moduleWeightsName}`]
        : [],
    ),
  );
  return found.flat().sort();
};
