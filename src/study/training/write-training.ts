import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { shipped } from '../../core/base/files/shipped.js';
import { writeFailed } from '../../core/base/files/writing.js';
import { partitionJson } from '../../core/measure/partition/formats/index.js';
import type { TextHashes } from '../evaluation/data/trained-texts.js';
import { dataConfig } from './data-config.js';
import { readmeOf, readmeOfSweep } from './instructions.js';
import { manifestName, manifestOf } from './manifest.js';
import { runFiles } from './run-state.js';
import { scriptOfRun, scriptOfRuns, shippedPrograms } from './scripts.js';
import type { TrainingRun } from './settings/training-run.js';
import { accelerateConfig } from './trainers/accelerate.js';
import { axolotlConfig } from './trainers/axolotl.js';
import { datasetInfo, datasetInfoFile, llamaFactoryConfig } from './trainers/llama-factory.js';
import { partitionCopy, trlConfig, trlProgram } from './trainers/trl.js';

const shippedPackage = 'layerloom_train';

/** Python package for simultaneous training, copied so that a moved directory still works. */
const packageSource = shipped(`python/${shippedPackage}`);

export const filesOfRun = (run: TrainingRun): Record<string, string> => ({
  'README.md': readmeOf(run),
  [runFiles.script]: scriptOfRun(run),
  'data.yaml': dataConfig(run),
  ...configurationsOf(run),
  ...(run.partition === undefined ? {} : { [partitionCopy]: partitionJson(run.partition) }),
});

const configurationsOf = (run: TrainingRun): Record<string, string> => {
  const accelerate: Record<string, string> =
    run.devices > 1 && run.way !== 'simultaneous' ? { 'accelerate.yaml': accelerateConfig(run) } : {};
  switch (run.trainer) {
    case 'trl':
      return { 'config.yaml': trlConfig(run), ...accelerate };
    case 'axolotl':
      return { 'config.yaml': axolotlConfig(run) };
    case 'llama-factory':
      return { 'config.yaml': llamaFactoryConfig(run), [datasetInfoFile]: datasetInfo(), ...accelerate };
  }
};

const programsOf = (run: TrainingRun): string[] => {
  const own = run.trainer === 'trl' ? trlProgram(run) : undefined;
  return ['prepare_data.py', ...(own === undefined ? [] : [own])];
};

const modulesOf = async (run: TrainingRun): Promise<string[]> =>
  run.way === 'simultaneous'
    ? (await readdir(packageSource))
        .filter((name) => name.endsWith('.py'))
        .map((name) => `${shippedPackage}/${name}`)
    : [];

const filesOfSweep = (runs: readonly TrainingRun[]): Record<string, string> =>
  runs.length === 1 ? {} : { 'README.md': readmeOfSweep(runs), [runFiles.script]: scriptOfRuns(runs) };

const writeTexts = async (out: string, texts: Readonly<Record<string, string>>): Promise<void> => {
  for (const [name, text] of Object.entries(texts)) {
    await mkdir(dirname(join(out, name)), { recursive: true });
    await writeFile(join(out, name), text, { flag: 'wx' });
  }
};

const writeRun = async (run: TrainingRun, out: string): Promise<string[]> => {
  const texts = filesOfRun(run);
  const programs = programsOf(run);
  const modules = await modulesOf(run);
  await writeTexts(out, texts);
  for (const name of programs) await copyFile(join(shippedPrograms, name), join(out, name));
  for (const name of modules) {
    await mkdir(dirname(join(out, name)), { recursive: true });
    await copyFile(join(packageSource, basename(name)), join(out, name));
  }
  return [...Object.keys(texts), ...programs, ...modules];
};

/**
 * Writes runs into an empty or new directory; several runs get a folder each.
 *
 * @returns names of the files
 * @throws OUTPUT_INVALID, WRITE_FAILED
 */
export const writeTraining = async (
  runs: readonly TrainingRun[],
  base: string,
  trainedOn: TextHashes,
  out: string,
): Promise<string[]> => {
  const shared = {
    ...filesOfSweep(runs),
    [manifestName]: `${JSON.stringify(manifestOf(runs, base, trainedOn), null, 2)}\n`,
  };
  const names = Object.keys(shared);
  try {
    await mkdir(out, { recursive: true });
    const there = await readdir(out);
    if (there.length > 0)
      throw new LayerloomError('OUTPUT_INVALID', { out, reason: 'is not empty; choose another directory' });
    for (const run of runs) {
      const folder = runs.length === 1 ? '' : run.name;
      const written = await writeRun(run, join(out, folder));
      names.push(...written.map((name) => join(folder, name)));
    }
    // Writes the manifest last, because it marks a complete directory.
    await writeTexts(out, shared);
  } catch (cause) {
    if (cause instanceof LayerloomError) throw cause;
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === 'EEXIST' || code === 'ENOTDIR')
      throw new LayerloomError(
        'OUTPUT_INVALID',
        { out, reason: 'is not a directory; choose another' },
        { cause },
      );
    throw writeFailed(out, cause);
  }
  return names.sort();
};
