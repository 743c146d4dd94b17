import { parse } from 'node:path';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { invalidParameter } from '../../../core/base/errors/invalid-parameter.js';
import { itemAt } from '../../../core/base/errors/lookup.js';
import { optionName } from '../../../core/base/errors/option-name.js';
import { nearest } from '../../../core/base/nearest.js';
import { splitName } from '../../../core/models/address/name.js';
import { type DataSet, kindOf, type PresetWithData } from './preset.js';

/** Data set in a mix; `path` is a file to use instead of the hub. */
export interface MixedSet extends DataSet {
  readonly path?: string;
  readonly ratio: number;
}

export interface MixedFile {
  readonly path: string;
  readonly ratio: number;
}

export interface MixPart {
  readonly kind: 'math' | 'language';
  readonly samples: number;
  /** Public data sets; undefined if the user's files replace them. */
  readonly sets?: readonly MixedSet[];
  readonly files?: readonly MixedFile[];
}

export interface DataMix {
  readonly parts: readonly MixPart[];
}

const kinds = ['math', 'language'] as const;

interface GivenFile {
  readonly name?: string;
  readonly path: string;
}

/**
 * Returns a preset's data sets, or the files that replace them.
 *
 * @throws USAGE for a file that replaces nothing, or if the unnamed data set has no file
 */
export const dataMixOf = (
  { preset, sets: setsOf }: PresetWithData,
  {
    samples,
    data,
    mix,
  }: { readonly samples: number; readonly data: readonly string[]; readonly mix?: string | undefined },
): DataMix => {
  const given = data.map((text): GivenFile => {
    const { name, rest: path } = splitName(text);
    return name === undefined ? { path } : { name, path };
  });
  const parts = preset.categories.map((category): MixPart => {
    const kind = kindOf(category);
    const files = given.flatMap(({ name, path }) =>
      name === kind || (name === undefined && preset.categories.length === 1) ? [{ path, ratio: 1 }] : [],
    );
    if (files.length > 0) return { kind, samples, files };
    const sets = (setsOf[category] ?? []).map((set): MixedSet => {
      const own = given.find(({ name }) => name === set.name);
      return { ...set, ...(own === undefined ? {} : { path: own.path }), ratio: 1 };
    });
    return { kind, samples, sets };
  });
  checkNames(given, parts);
  const mixed = mix === undefined ? parts : mixedBy(mix, parts);
  checkUnnamed(mixed);
  return { parts: mixed };
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
        reason: `${optionName('data')} names ${name} twice: ${former.path} and ${path}; a data set has one file`,
      });
    if (name === undefined && parts.length > 1)
      throw new LayerloomError('USAGE', {
        reason: `${optionName('data', path)}: this preset has two kinds of data; give math=${path} or language=${path}`,
      });
    if (name === undefined || names.includes(name)) continue;
    const near = nearest(name, names);
    throw new LayerloomError('USAGE', {
      reason: `${optionName('data', `${name}=${path}`)}: this preset has no data set ${name}; it has ${names.join(', ')}${near === undefined ? '' : `; did you mean ${near}?`}`,
    });
  }
};

const checkUnnamed = (parts: readonly MixPart[]): void => {
  for (const { kind, sets, files } of parts)
    if (sets?.length === 0 && files === undefined)
      throw new LayerloomError('USAGE', {
        reason: `this preset trains on your own data; give files of rows with ${optionName('data', parts.length > 1 ? `${kind}=PATH` : 'PATH')}`,
      });
  for (const { sets = [] } of parts)
    for (const { name, title, hub, path } of sets)
      if (hub === undefined && path === undefined)
        throw new LayerloomError('USAGE', {
          reason: `Table 3 does not name the data set "${title}"; give a file of such rows with ${optionName('data', `${name}=PATH`)}`,
        });
};

const stemOf = (path: string): string => parse(path).name;

/**
 * Applies ratios `NAME:RATIO+NAME:RATIO`. If all names are kinds (`math`, `language`), ratios apply to kinds, otherwise
 * to data sets and files.
 */
const mixedBy = (mix: string, parts: readonly MixPart[]): MixPart[] => {
  const ratios = ratiosOf(mix);
  const invalidMix = (expected: string) => invalidParameter('mix', mix, expected);
  const isOfKinds = [...ratios.keys()].every((name) => parts.some(({ kind }) => kind === name));
  if (isOfKinds) {
    const samples = parts.reduce((sum, part) => sum + part.samples, 0);
    const total = [...ratios.values()].reduce((sum, ratio) => sum + ratio, 0);
    const mixed = parts.flatMap((part) => {
      const ratio = ratios.get(part.kind);
      return ratio === undefined ? [] : [{ ...part, samples: Math.round((samples * ratio) / total) }];
    });
    if (mixed.length < parts.length) throw invalidMix('a ratio of math and of language');
    return mixed;
  }
  const names = parts.flatMap(namesIn);
  const unknown = [...ratios.keys()].find((name) => !names.includes(name));
  if (unknown !== undefined) throw invalidMix(`ratios of ${names.join(', ')}; ${unknown} is not among them`);
  const kept = <Of>(all: readonly Of[] | undefined, nameOf: (of: Of) => string) =>
    all?.flatMap((of) => {
      const ratio = ratios.get(nameOf(of));
      return ratio === undefined ? [] : [{ ...of, ratio }];
    });
  return parts.map((part) => {
    const { sets, files } = part;
    if (!namesIn(part).some((name) => ratios.has(name))) return part;
    const [keptSets, keptFiles] = [kept(sets, ({ name }) => name), kept(files, ({ path }) => stemOf(path))];
    return {
      ...part,
      ...(keptSets === undefined ? {} : { sets: keptSets }),
      ...(keptFiles === undefined ? {} : { files: keptFiles }),
    };
  });
};

const namesIn = ({ sets = [], files = [] }: MixPart): string[] => [
  ...sets.map(({ name }) => name),
  ...files.map(({ path }) => stemOf(path)),
];

const ratiosOf = (mix: string): ReadonlyMap<string, number> =>
  new Map(
    mix.split('+').map((part) => {
      const { name = '', ratio = '1' } =
        /^(?<name>[^:]+)(?::(?<ratio>\d+(?:\.\d+)?))?$/.exec(part)?.groups ?? {};
      if (name === '' || !(Number(ratio) > 0))
        throw invalidParameter('mix', mix, 'NAME:RATIO+NAME:RATIO, with ratios above 0');
      return [name, Number(ratio)];
    }),
  );

export const filesOf = ({ parts }: DataMix): string[] =>
  parts.flatMap(({ files = [], sets = [] }) => [
    ...files.map(({ path }) => path),
    ...sets.flatMap(({ path }) => (path === undefined ? [] : [path])),
  ]);

export const preparedFile = 'data/train.jsonl';

export const preparedPart = ({ kind }: Pick<MixPart, 'kind'>): string => `data/${kind}.jsonl`;

export const hubIdOf = ({ hub, hubToday }: DataSet): string =>
  itemAt(
    [hubToday, hub].filter((id) => id !== undefined),
    0,
  );
