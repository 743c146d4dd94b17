import { createHash } from 'node:crypto';
import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { join, posix, sep } from 'node:path';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { namesIn, unlessMissing } from '../../core/base/files/unless-missing.js';
import { readFailed, reading } from '../../core/base/files/writing.js';
import { readFileIfAny, readSmallFile } from '../../core/models/checkpoint/files/small-file.js';
import { evaluationsName } from '../evaluation/result-files.js';
import { type ExperimentRecord, readRecord } from '../experiment/record/experiment-record.js';
import { scoredTexts, trainedName, trainingFactsOf } from '../experiment/scoring/requests/training-facts.js';
import { aboutTexts, writtenMark } from './about.js';
import {
  byBytes,
  citationName,
  kindOfEntry,
  licenseNames,
  mergeFiles,
  sharedFolders,
  sumsName,
} from './names.js';

/** File in a bundle: from the study, or a text about it. */
export type BundleFile = { readonly name: string; readonly bytes: number } & (
  | { readonly path: string }
  | { readonly text: string }
);

export interface ListedFiles {
  readonly record: ExperimentRecord;
  readonly files: readonly BundleFile[];
  readonly leftOut: readonly string[];
  /** True if no file in the study names its authors. */
  readonly lacksAuthors: boolean;
}

/**
 * Lists the files of a study. Follows links only within the study: other links could bring any file of this
 * machine into the bundle.
 *
 * @throws EXPERIMENT_MISSING, EXPERIMENT_INVALID, BUNDLE_REFUSED, READ_FAILED
 */
export const listFiles = async (directory: string): Promise<ListedFiles> => {
  const record = await readRecord(directory);
  const root = await reading(directory, () => realpath(directory));
  const found = new Map<string, BundleFile>();
  const add = async (name: string): Promise<void> => {
    const file = await fileIn(root, name);
    if (file !== undefined) found.set(name, file);
  };
  await add('experiment.json');
  for (const folder of sharedFolders)
    for (const own of await namesIn(join(root, folder))) {
      const name = `${folder}/${own}`;
      if (kindOfEntry(name) !== undefined) await add(name);
    }
  for (const { path } of record.merges)
    for (const file of mergeFiles) {
      const name = posix.join(path, file);
      if (kindOfEntry(name) !== 'merges' || !name.startsWith(path))
        throw refused(
          directory,
          `the record has a merge ${JSON.stringify(path)}, a path that bundles do not allow`,
        );
      await add(name);
    }
  const trained = await trainingFactsOf(root, record, await scoredTexts(root, record));
  if (trained.problems.length + trained.models.length > 0) {
    const text = `${JSON.stringify(trained, null, 2)}\n`;
    found.set(trainedName, { name: trainedName, bytes: Buffer.byteLength(text), text });
  }
  const results = [...found.keys()].filter((name) => /-[0-9a-f]{16}\.json$/.test(name)).length;
  const about = aboutTexts({ record, results }, licenseNames);
  let lacksAuthors = true;
  for (const { name, names, text } of about) {
    const own = await firstOwn(root, names);
    if (own === undefined) found.set(name, { name, bytes: Buffer.byteLength(text), text });
    else {
      found.set(own.name, own);
      if (own.name === citationName) lacksAuthors = false;
    }
  }
  checkCases(directory, [...found.keys()]);
  return {
    record,
    files: [...found.values()].sort((a, b) => byBytes(a.name, b.name)),
    leftOut: await leftOutOf(root, found, record),
    lacksAuthors,
  };
};

const refused = (study: string, reason: string): LayerloomError =>
  new LayerloomError('BUNDLE_REFUSED', { study, reason });

const fileIn = async (root: string, name: string): Promise<(BundleFile & { path: string }) | undefined> => {
  const path = join(root, name);
  const real = await unlessMissing(path, realpath(path));
  if (real === undefined) {
    if ((await unlessMissing(path, lstat(path))) === undefined) return undefined;
    throw refused(root, `${name} is a broken link; remove it`);
  }
  if (!real.startsWith(`${root}${sep}`))
    throw refused(root, `${name} leads out of the study, to ${real}; put a copy in its place`);
  const found = await stat(real).catch((cause: unknown) => {
    throw readFailed(path, cause);
  });
  if (!found.isFile()) throw refused(root, `${name} is not a regular file; move it away`);
  return { name, bytes: found.size, path: real };
};

/** True if a generated text was edited: the study's list of sums does not have its SHA-256. */
const isEdited = async (root: string, name: string, content: Buffer): Promise<boolean> => {
  const sums = await readFileIfAny(join(root, sumsName)).catch(() => undefined);
  const sum = createHash('sha256').update(content).digest('hex');
  return sums === undefined || !sums.toString().split('\n').includes(`${sum}  ${name}`);
};

const firstOwn = async (root: string, names: readonly string[]): Promise<BundleFile | undefined> => {
  for (const name of names) {
    const file = await fileIn(root, name);
    if (file === undefined) continue;
    const content = await reading(file.path, () => readSmallFile(file.path));
    const isWritten = content.subarray(0, 1000).includes(writtenMark);
    if (!isWritten || (await isEdited(root, name, content))) return file;
  }
  return undefined;
};

/** Refuses names that differ only in case or Unicode composition: some file systems would keep only one file. */
const checkCases = (study: string, names: readonly string[]): void => {
  const seen = new Map<string, string>();
  for (const name of names) {
    const folded = name.normalize('NFC').toLowerCase();
    const former = seen.get(folded);
    if (former !== undefined) throw refused(study, `${former} and ${name} differ only in case`);
    seen.set(folded, name);
  }
};

const leftOutOf = async (
  root: string,
  found: ReadonlyMap<string, BundleFile>,
  { merges }: ExperimentRecord,
): Promise<string[]> => {
  const folders = new Set([...found.keys(), ...merges.map(({ path }) => `${path}/`)].map(firstOf));
  const top = (await namesIn(root)).filter((name) => !folders.has(name) && !found.has(name));
  const scored = (await namesIn(join(root, evaluationsName)))
    .map((name) => `${evaluationsName}/${name}`)
    .filter((name) => !found.has(name) && name !== `${evaluationsName}/.contents`);
  return [...top, ...scored].sort(byBytes);
};

const firstOf = (name: string): string => name.split('/', 1)[0] ?? name;

export const hasWeights = async (directory: string, { merges }: ExperimentRecord): Promise<boolean> => {
  for (const { path } of merges)
    if (
      (await readdir(join(directory, path)).catch(() => [])).some((name) => /\.(safetensors|bin)$/.test(name))
    )
      return true;
  return false;
};
