import { splitName } from '../address/name.js';
import { LayerloomError } from '../base/errors.js';
import { itemAt } from '../base/lookup.js';
import { optionName } from '../base/option-name.js';
import { nearest } from '../recipe/nearest.js';
import type { DataSet, PresetWithData } from './preset.js';

/** A data set of a mix, and the file to read instead of the hub. */
export interface MixedSet extends DataSet {
  readonly path?: string;
}

/** Data of one kind: math, or a language. */
export interface MixPart {
  readonly kind: 'math' | 'language';
  readonly samples: number;
  /** Public data sets; undefined if own files replace them. */
  readonly sets?: readonly MixedSet[];
  /** Own files that replace them. */
  readonly files?: readonly string[];
}

/** The data of a run. */
export interface DataMix {
  readonly parts: readonly MixPart[];
}

const kinds = ['math', 'language'] as const;

/** A file of `--data`, and the data set or kind that it stands for. */
interface GivenFile {
  readonly name?: string;
  readonly path: string;
}

/**
 * Returns the data of a preset: its data sets, or the files that stand for them.
 *
 * @throws LayerloomError USAGE for a file that stands for nothing, and without one for the set without a name
 */
export const dataMixOf = (
  { preset, sets: setsOf }: PresetWithData,
  { samples, data }: { readonly samples: number; readonly data: readonly string[] },
): DataMix => {
  const given = data.map((text): GivenFile => {
    const { name, rest: path } = splitName(text);
    return name === undefined ? { path } : { name, path };
  });
  const parts = preset.categories.map((category): MixPart => {
    const kind = category === 'math' ? 'math' : 'language';
    const files = given.flatMap(({ name, path }) =>
      name === kind || (name === undefined && preset.categories.length === 1) ? [path] : [],
    );
    if (files.length > 0) return { kind, samples, files };
    const sets = (setsOf[category] ?? []).map((set): MixedSet => {
      const own = given.find(({ name }) => name === set.name);
      return own === undefined ? set : { ...set, path: own.path };
    });
    return { kind, samples, sets };
  });
  checkNames(given, parts);
  checkUnnamed(parts);
  return { parts };
};

const checkNames = (given: readonly GivenFile[], parts: readonly MixPart[]): void => {
  const names = [
    ...kinds.filter((kind) => parts.some((part) => part.kind === kind)),
    ...parts.flatMap(({ sets = [] }) => sets.map(({ name }) => name)),
  ];
  for (const [index, { name, path }] of given.entries()) {
    const former = given.slice(0, index).find((other) => name !== undefined && other.name === name);
    if (former !== undefined && !kinds.some((kind) => kind === name))
      throw new LayerloomError('USAGE', {
        reason: `${optionName('data')} names ${name} twice: ${former.path} and ${path}; one file stands for a data set`,
      });
    if (name === undefined && parts.length > 1)
      throw new LayerloomError('USAGE', {
        reason: `${optionName('data', path)}: this preset has data of two kinds; say math=${path} or language=${path}`,
      });
    if (name === undefined || names.includes(name)) continue;
    const near = nearest(name, names);
    throw new LayerloomError('USAGE', {
      reason: `${optionName('data', `${name}=${path}`)}: this preset has no data set ${name}, but ${names.join(', ')}${near === undefined ? '' : `; did you mean ${near}?`}`,
    });
  }
};

const checkUnnamed = (parts: readonly MixPart[]): void => {
  for (const { sets = [] } of parts)
    for (const { name, title, hub, path } of sets)
      if (hub === undefined && path === undefined)
        throw new LayerloomError('USAGE', {
          reason: `Table 3 does not name the data set "${title}"; give a file of such rows with ${optionName('data', `${name}=PATH`)}`,
        });
};

/** The files that a mix reads from this machine. */
export const filesOf = ({ parts }: DataMix): string[] =>
  parts.flatMap(({ files = [], sets = [] }) => [
    ...files,
    ...sets.flatMap(({ path }) => (path === undefined ? [] : [path])),
  ]);

/** The file that `prepare_data.py` writes for the trainer. */
export const preparedFile = 'data/train.jsonl';

/** The file of one kind of data, beside `preparedFile`. */
export const preparedPart = ({ kind }: Pick<MixPart, 'kind'>): string => `data/${kind}.jsonl`;

/** The id of a set on the hub. */
export const hubIdOf = ({ hub, hubToday }: DataSet): string =>
  itemAt(
    [hubToday, hub].filter((id) => id !== undefined),
    0,
  );
