import { isAbsolute, resolve } from 'node:path';
import { stringify } from 'yaml';
import { hubIdOf, type MixedSet, type MixPart, preparedFile, preparedPart } from './settings/data-mix.js';
import { headlineOf } from './settings/headline.js';
import type { TrainingRun } from './settings/training-run.js';

/** Returns `data.yaml`, which tells `prepare_data.py` which rows of each data set to use. */
export const dataConfig = (run: TrainingRun): string =>
  [
    ...headlineOf(run).map((line) => `# ${line}`.trimEnd()),
    '#',
    "# Hub ids are from Table 3. Configurations, splits and columns are ours, from the data sets' cards; prepare_data.py",
    '# stops if they do not match. The paper states no mixing ratios; ours are equal shares. If a set has fewer rows, all of',
    '# them are used, and more of the others. Prompts for translations are ours too.',
    '',
    stringify(
      {
        seed: run.seed,
        out: preparedFile,
        parts: run.mix.parts.map((part) => ({
          kind: part.kind,
          samples: part.samples,
          ...(run.mix.parts.length > 1 ? { out: preparedPart(part) } : {}),
          sets: setsOf(part),
        })),
      },
      { lineWidth: 0, aliasDuplicateObjects: false },
    ).trimEnd(),
    '',
  ].join('\n');

const setsOf = ({ sets, files = [] }: MixPart): object[] =>
  sets === undefined
    ? files.map(({ path, ratio }) => ({ name: path, path: absolute(path), ratio }))
    : sets.map(setOf);

const setOf = (set: MixedSet): object => ({
  name: set.name,
  ...(set.path === undefined
    ? {
        hub: hubIdOf(set),
        ...(set.hubToday === undefined ? {} : { printed_as: set.hub }),
        ...(set.config === undefined ? {} : { config: set.config }),
        split: set.split ?? 'train',
        ...(set.withoutFiles === undefined
          ? {}
          : { without_files: set.withoutFiles, without_sentences: null }),
      }
    : { path: absolute(set.path) }),
  ...(set.where === undefined ? {} : { where: set.where }),
  ...set.form,
  ratio: set.ratio,
});

/** Makes a path absolute, because the file is not written to the working directory. */
const absolute = (path: string): string => (isAbsolute(path) ? path : resolve(path));
