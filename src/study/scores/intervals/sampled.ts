import { itemAt } from '../../../core/base/errors/lookup.js';
import { isPair } from '../reading/configurations.js';
import type { ScoredModel } from '../reading/scored-experiment.js';
import type { Levels } from './crossed.js';
import { less, meanOfModels, type Scaled } from './scaled.js';

/**
 * Population that models are sampled from. In `pairs of experts`, no two pairs share an expert; `models` have
 * other roles.
 */
export type Kind = 'task experts' | 'language experts' | 'pairs of experts' | 'models';

export interface Sampling {
  readonly kind: Kind;
  readonly labels: readonly string[];
}

/**
 * Returns the populations that a row's models are sampled from; the mean then describes similar models too. A
 * kind with one member (the task expert of three merges) is fixed.
 *
 * @returns empty for a single model that is not a pair's merge; undefined if the models are no sample: a
 * single pair, or some pairs of a grid
 */
export const samplingOf = (models: readonly ScoredModel[]): readonly Sampling[] | undefined => {
  if (models.length < 2) return isOnePair(models) ? undefined : [];
  if (!models.every(isPair)) return ofOneKind(models);
  const tasks = models.map(({ name, task }) => task ?? name);
  const languages = models.map(({ name, languageExpert }) => languageExpert ?? name);
  const [rows, columns] = [new Set(tasks).size, new Set(languages).size];
  const pairs = tasks.map((task, at) => `${task}+${languages[at]}`);
  if (new Set(pairs).size < models.length) return undefined;
  if (rows === models.length && columns === models.length)
    return [{ kind: 'pairs of experts', labels: pairs }];
  if (rows * columns !== models.length) return undefined;
  return [
    ...(rows > 1 ? [{ kind: 'task experts' as const, labels: tasks }] : []),
    ...(columns > 1 ? [{ kind: 'language experts' as const, labels: languages }] : []),
  ];
};

const ofOneKind = (models: readonly ScoredModel[]): readonly Sampling[] | undefined => {
  const labels = models.map(({ name, task, languageExpert }) => task ?? languageExpert ?? name);
  if (new Set(labels).size < models.length) return undefined;
  const isAll = (is: (model: ScoredModel) => boolean) => models.every(is);
  if (isAll(({ role, task }) => role === 'task' || (role === 'merge' && task !== null)))
    return [{ kind: 'task experts', labels }];
  if (isAll(({ role, languageExpert }) => role === 'language' || languageExpert !== null))
    return [{ kind: 'language experts', labels }];
  return [{ kind: 'models', labels }];
};

export interface SampledScores {
  readonly scores: readonly Float64Array[];
  readonly sampling: readonly Sampling[] | undefined;
}

export interface Factor {
  readonly kind: Kind;
  readonly labels: readonly string[];
  readonly levels: Levels;
}

export const factorsOf = ({ scores, sampling = [] }: SampledScores): Factor[] =>
  sampling.map(({ kind, labels }) => ({ kind, labels: distinct(labels), levels: levelsOf(scores, labels) }));

/**
 * Returns the kinds of model (experts, seeds, …) whose sampling makes the difference between two rows' means
 * vary. If both rows have the same experts, an expert's difference is one level. Empty if a row is not a
 * sample.
 */
export const factorsOfDifference = (a: SampledScores, b: SampledScores): Factor[] => {
  if (a.sampling === undefined || b.sampling === undefined) return [];
  const isShared = (one: Sampling, other: Sampling): boolean =>
    one.kind === other.kind && String(distinct(one.labels)) === String(distinct(other.labels));
  const ofA = a.sampling.map((sampling): Factor => {
    const levels = levelsOf(a.scores, sampling.labels);
    const own = { kind: sampling.kind, labels: distinct(sampling.labels) };
    const shared = b.sampling?.find((other) => isShared(sampling, other));
    if (shared === undefined) return { ...own, levels };
    const others = levelsOf(b.scores, shared.labels);
    return { ...own, levels: levels.map((level, at) => less(level, itemAt(others, at))) };
  });
  const ofB = b.sampling
    .filter((sampling) => !a.sampling?.some((other) => isShared(sampling, other)))
    .map(
      ({ kind, labels }): Factor => ({ kind, labels: distinct(labels), levels: levelsOf(b.scores, labels) }),
    );
  return [...ofA, ...ofB];
};

const distinct = (labels: readonly string[]): string[] => [...new Set(labels)].sort();

const levelsOf = (scores: readonly Float64Array[], labels: readonly string[]): Scaled[] =>
  distinct(labels).map((label) => meanOfModels(scores.filter((_, at) => labels[at] === label)));

/** Names the population of an interval: `task experts, language experts and problems like these`. */
export const estimandOf = (
  factors: readonly { readonly kind: Kind }[],
  { isOnePair }: { readonly isOnePair: boolean },
): string => {
  const kinds = [...new Set(factors.map(({ kind }) => kind))];
  if (kinds.length > 0) return `${kinds.join(', ')} and problems like these`;
  return `${isOnePair ? 'these two experts' : 'these models'} only, problems like these`;
};

/** True for one merge of two experts, whose score says nothing about other experts. */
export const isOnePair = (models: readonly ScoredModel[]): boolean =>
  models.length === 1 && models.every(isPair);
