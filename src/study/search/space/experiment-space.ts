import { layerloomCommand } from '../../../core/base/errors/command-line.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { groupBy, itemAt, valueAt } from '../../../core/base/errors/lookup.js';
import { nearest } from '../../../core/base/nearest.js';
import type { ExperimentMerge } from '../../experiment/file/expand.js';
import type { Coordinate, Group, SearchPoint } from './space.js';

export interface ExperimentPoint extends SearchPoint {
  readonly method: string;
  readonly configuration: Readonly<Record<string, unknown>>;
  /** Merges, one for each pair; all configurations have the same order of pairs. */
  readonly merges: readonly ExperimentMerge[];
}

export interface ExperimentSpace {
  readonly groups: readonly Group[];
  readonly points: readonly ExperimentPoint[];
  readonly default: number;
  /** Configurations that do not merge the same pairs as the default. */
  readonly otherPairs: readonly string[];
}

type Draft = Omit<ExperimentPoint, 'group' | 'at'> & { readonly entry: number };

/** Returns a merge's variant: `default`, `grid/b3-u0-tb0-tu0-uniform`. */
export const variantOf = ({ name, language, task, languageExpert }: ExperimentMerge): string => {
  const isOfSoups = task === 'soup' && languageExpert !== null && /^(all-)?soup$/.test(languageExpert);
  const pair = [task, languageExpert].filter((expert) => expert !== null).join('+');
  return name.slice((isOfSoups ? language : `${language}/${pair}`).length + 1);
};

export const pairOf = ({ task, languageExpert }: ExperimentMerge): string =>
  `${task ?? ''}+${languageExpert ?? ''}`;

/**
 * Returns an experiment's search space. A configuration in two entries is named by the larger entry.
 *
 * @param standard the default's name; default: the entry `default`, else the first configuration
 * @throws SEARCH_INVALID for an unknown default, or without merges
 */
export const experimentSpace = (
  merges: readonly ExperimentMerge[],
  standard: string | undefined,
): ExperimentSpace => {
  const drafts = draftsOf(merges);
  const wanted = defaultOf(drafts, standard);
  const distinct = distinctOf(drafts);
  const twin = distinct.find((draft) => keyOf(draft) === keyOf(wanted)) ?? wanted;
  const pairs = pairsOf(twin);
  const kept = distinct.filter((draft) => pairsOf(draft) === pairs);
  const byEntry = [...groupBy(kept, ({ entry }) => entry).values()];
  const groups = byEntry.map(
    (of): Group => ({ name: entryName(itemAt(of, 0)), coordinates: coordinatesOf(of) }),
  );
  const points = byEntry.flatMap((of, group) =>
    of.map(
      (draft): ExperimentPoint => ({
        ...draft,
        group,
        at: itemAt(groups, group).coordinates.map(({ name, values }) =>
          values.indexOf(textOf(parametersOf(draft)[name])),
        ),
      }),
    ),
  );
  return {
    groups,
    points,
    default: points.findIndex(({ name }) => name === twin.name),
    otherPairs: distinct.filter((draft) => !kept.includes(draft)).map(({ name }) => name),
  };
};

const draftsOf = (merges: readonly ExperimentMerge[]): Draft[] =>
  [...groupBy(merges, (merge) => `${merge.entry} ${variantOf(merge)}`).values()].map((of) => {
    const { method, configuration, entry } = itemAt(of, 0);
    return { name: variantOf(itemAt(of, 0)), method, configuration, entry, merges: of };
  });

const defaultOf = (drafts: readonly Draft[], standard: string | undefined): Draft => {
  const named = drafts.find(({ name }) => name === (standard ?? 'default'));
  const first = drafts[0];
  if (first === undefined)
    throw new LayerloomError('SEARCH_INVALID', {
      reason: 'the experiment has no merges with this language, pair and entries',
      remedy: `list its merges with \`${layerloomCommand('batch', 'EXPERIMENT.yaml', '--dry-run', '--json')}\``,
    });
  if (named === undefined && standard !== undefined) {
    const names = drafts.map(({ name }) => name);
    const meant = nearest(standard, names);
    throw new LayerloomError('SEARCH_INVALID', {
      reason: `${standard} is not a configuration of the experiment`,
      remedy: meant === undefined ? `choose one, such as ${first.name}` : `did you mean ${meant}?`,
    });
  }
  return named ?? first;
};

const keyOf = ({ method, configuration, merges }: Draft): string =>
  JSON.stringify([
    method,
    Object.entries(configuration).sort(([a], [b]) => (a < b ? -1 : 1)),
    merges.map(pairOf),
  ]);

/** Returns distinct configurations, each from the largest entry that has it. */
const distinctOf = (drafts: readonly Draft[]): Draft[] => {
  const sizes = new Map([...groupBy(drafts, ({ entry }) => entry)].map(([entry, of]) => [entry, of.length]));
  return [...groupBy(drafts, keyOf).values()].map((of) =>
    of.reduce((best, draft) => (valueAt(sizes, draft.entry) > valueAt(sizes, best.entry) ? draft : best)),
  );
};

const pairsOf = ({ merges }: Draft): string => merges.map(pairOf).join(' ');

const entryName = ({ name }: Draft): string => itemAt(name.split('/'), 0);

const parametersOf = ({ method, configuration }: Draft): Readonly<Record<string, unknown>> => ({
  method,
  ...configuration,
});

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null);

/**
 * Returns the parameters that vary, as coordinates. If several vary together, like bottom and top in
 * `layers`, only the first is a coordinate.
 */
const coordinatesOf = (drafts: readonly Draft[]): Coordinate[] => {
  const names = [...new Set(drafts.flatMap((draft) => Object.keys(parametersOf(draft))))];
  const seen = new Set<string>();
  return names.flatMap((name) => {
    const given = drafts.map((draft) => parametersOf(draft)[name]);
    const isOrdered = given.every((value) => typeof value === 'number');
    const distinct = [...new Set(given.map(textOf))];
    const values = isOrdered ? distinct.sort((a, b) => Number(a) - Number(b)) : distinct;
    const column = given.map((value) => values.indexOf(textOf(value))).join(' ');
    if (values.length < 2 || seen.has(column)) return [];
    seen.add(column);
    return [{ name, values, isOrdered }];
  });
};
