import { readdir } from 'node:fs/promises';
import { writer } from './containers/containers.js';

/** The folder of a sentence-transformers module: `1_Pooling`, `2_Dense`. */
export const moduleFolder = /^\d+_[A-Za-z]\w*$/;

/** Lists a model's modules; those in folders follow the model itself. */
export const modulesName = 'modules.json';

export const moduleWeightsName = writer.shardName(0, 1);

const inModule = /^(?<folder>\d+_[A-Za-z]\w*)\/(?<name>.+)$/;

export interface InModule {
  readonly folder: string;
  readonly name: string;
}

/** Splits the name of a module's tensor, such as `2_Dense/linear.weight`; undefined for the model's own. */
export const moduleOf = (tensor: string): InModule | undefined => {
  const { folder, name } = inModule.exec(tensor)?.groups ?? {};
  return folder === undefined || name === undefined ? undefined : { folder, name };
};

export const isModuleWeights = (file: string): boolean => moduleOf(file)?.name === moduleWeightsName;

export const moduleWeightsAmong = (names: readonly string[]): string[] =>
  names.includes(modulesName) ? names.filter(isModuleWeights).sort() : [];

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
