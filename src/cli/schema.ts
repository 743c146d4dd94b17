import { readFileSync } from 'node:fs';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { invalidParameter } from '../core/base/errors/invalid-parameter.js';
import { printText } from './print.js';

export const schemaNames = ['recipe', 'experiment'] as const;

type SchemaName = (typeof schemaNames)[number];

const schemaFile = (name: SchemaName): string =>
  fileURLToPath(new URL(`../schemas/${name}.schema.json`, import.meta.url));

export const methodsInSchema = (): readonly string[] =>
  JSON.parse(readFileSync(schemaFile('recipe'), 'utf8')).$defs.recipe.properties.method.enum;

/** @throws INVALID_PARAMETER */
export const schemaCommand = async (name: string): Promise<void> => {
  const known = schemaNames.find((each) => each === name);
  if (known === undefined) throw invalidParameter('kind', name, schemaNames.join(' or '));
  printText(readFileSync(schemaFile(known), 'utf8').trimEnd());
};

/**
 * Returns a comment for editors with the YAML language server. In a project that depends on layerloom, the
 * path is relative, and so works on other machines.
 */
export const schemaComment = (name: SchemaName, folder: string): string => {
  const file = schemaFile(name);
  const way = relative(resolve(folder), file);
  const isDependency = way.split(sep).includes('node_modules') && !isAbsolute(way);
  const path = isDependency ? join('.', way) : file;
  return `# yaml-language-server: $schema=${isDependency && !way.startsWith('..') ? `./${path}` : path}`;
};
