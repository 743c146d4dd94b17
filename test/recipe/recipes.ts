import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { LayerloomError } from '../../src/core/base/errors/errors.js';
import { type ReadRecipe, readRecipe } from '../../src/core/methods/recipe/read-recipe.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

export type Files = Readonly<Record<string, string>>;

export const writeFiles = (files: Files): string => {
  const folder = temporaryDirectory();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
};

export const read = async (given: string | Files): Promise<ReadRecipe & { folder: string }> => {
  const folder = writeFiles(typeof given === 'string' ? { 'merge.yaml': given } : given);
  return { ...(await readRecipe(join(folder, 'merge.yaml'))), folder };
};

export const refusal = async (given: string | Files): Promise<string> => {
  const folder = writeFiles(typeof given === 'string' ? { 'merge.yaml': given } : given);
  try {
    await readRecipe(join(folder, 'merge.yaml'));
  } catch (error) {
    if (error instanceof LayerloomError && error.code === 'RECIPE_INVALID' && error.exitCode === 2)
      return error.message.replaceAll(`${folder}/`, '');
    throw error;
  }
  return 'not refused';
};

export const yaml = ([text = '']: TemplateStringsArray): string => {
  const lines = text.replace(/^\n/, '').trimEnd().split('\n');
  const indent = /^ */.exec(lines[0] ?? '')?.[0].length ?? 0;
  return `${lines.map((line) => line.slice(indent)).join('\n')}\n`;
};
