import { isUnreadable } from '../../base/files/unless-missing.js';
import type { CheckpointIndex } from '../../models/checkpoint/checkpoint.js';
import { isObject } from '../../models/checkpoint/files/json.js';
import { readSideFile } from '../../models/checkpoint/files/small-file.js';
import { sideFilePath } from '../../models/checkpoint/side-file-content.js';
import { frontMatterOf } from '../../texts/markdown.js';
import { YamlRefused, yamlValue } from '../../texts/yaml.js';
import { tableRow } from './markdown.js';

interface Licence {
  readonly license: string;
  readonly license_name?: string;
  readonly license_link?: string;
}

/** The models' common licence as front matter; otherwise a table of their licences. */
export interface MergedLicence {
  readonly frontMatter: Partial<Licence>;
  readonly text: readonly string[];
}

/** Reads the models' licences. If they differ, lists them: a program cannot decide which terms apply. */
export const mergedLicence = async (inputs: readonly CheckpointIndex[]): Promise<MergedLicence> => {
  const licences = await Promise.all(inputs.map(licenceOf));
  const [first, ...others] = licences;
  if (licences.every((licence) => licence === undefined)) return { frontMatter: {}, text: [] };
  if (first !== undefined && others.every((other) => JSON.stringify(other) === JSON.stringify(first)))
    return { frontMatter: first, text: [] };
  const nameOf = (licence: Licence | undefined) =>
    licence === undefined ? 'not stated' : (licence.license_name ?? licence.license);
  const rows = inputs.map(({ name }, index) => tableRow(name, nameOf(licences[index])));
  return {
    frontMatter: {},
    text: ['The licences of the models differ:', '', '| model | licence |', '| --- | --- |', ...rows],
  };
};

const licenceOf = async (checkpoint: CheckpointIndex): Promise<Licence | undefined> => {
  if (checkpoint.sideFiles.length === 0) return undefined;
  const readme = await readSideFile(sideFilePath(checkpoint, 'README.md')).catch((error: Error) => {
    if (isUnreadable(error.cause)) throw error;
    return '';
  });
  const frontMatter = frontMatterOf(readme.toString());
  try {
    const value = frontMatter === undefined ? undefined : yamlValue(frontMatter, 'none');
    return isObject(value) ? licenceIn(value) : undefined;
  } catch (error) {
    // Ignores invalid front matter, because only the licence is read.
    if (error instanceof YamlRefused) return undefined;
    throw error;
  }
};

const licenceIn = (frontMatter: Readonly<Record<string, unknown>>): Licence | undefined => {
  const [license, name, link] = ['license', 'license_name', 'license_link'].map((key) => frontMatter[key]);
  if (typeof license !== 'string') return undefined;
  return {
    license,
    ...(typeof name === 'string' ? { license_name: name } : {}),
    ...(typeof link === 'string' ? { license_link: link } : {}),
  };
};
