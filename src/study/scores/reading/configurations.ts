import { groupBy, itemAt, valueAt } from '../../../core/base/errors/lookup.js';
import { paperCounts } from '../../../core/methods/framework/counts.js';
import type { Counts } from '../../../core/methods/swaps/swap-counts.js';
import { arePaperCounts, isByCounts } from '../../../core/methods/swaps/swap-counts.js';
import { meanOf } from '../statistics/mean.js';
import type { ModelScore } from './model-score.js';
import type { ScoredModel } from './scored-experiment.js';

/** Configuration's merges, one for each pair of a language's experts. */
export interface Configuration {
  /** Name in the experiment: `default`, `grid/b3-u0-tb0-tu0`. */
  readonly variant: string;
  readonly method: string;
  readonly models: readonly ScoredModel[];
}

const ofSoups = ['soup', 'all-soup'];

/** True for a merge of one task expert and one language expert, neither a soup. */
export const isPair = ({ role, task, languageExpert }: ScoredModel): boolean =>
  role === 'merge' &&
  task !== null &&
  languageExpert !== null &&
  !ofSoups.includes(task) &&
  !ofSoups.includes(languageExpert);

/**
 * Returns the configurations of a language's pairs, ordered by method and settings. Duplicates are listed
 * once: as `default`, else under the entry with the most configurations.
 */
export const configurationsOf = (models: readonly ScoredModel[], language: string): Configuration[] => {
  const pairs = models.filter(
    (model) =>
      isPair(model) && model.language === language && model.method !== null && model.variant !== null,
  );
  const all = [...groupBy(pairs, ({ method, variant }) => JSON.stringify([method, variant])).values()];
  return distinctConfigurations(
    all.map((of) => {
      const model = itemAt(of, 0);
      return { method: methodOf(model), variant: model.variant as string, models: of };
    }),
  );
};

/**
 * Returns the method that groups configurations. For the follow-up paper's swaps by a partition it is the entry,
 * because these are compared with plain swaps.
 */
const methodOf = ({ method, entry, configuration }: ScoredModel): string =>
  configuration['partition'] === undefined ? (method as string) : `${byPartition}${entry}`;

/** Prefix of the entry in `method`, for configurations by a partition. */
export const byPartition = 'partition: ';

export const distinctMerges = (models: readonly ScoredModel[]): ScoredModel[] => {
  const byVariant = groupBy(models, ({ language, method, variant, name }) =>
    JSON.stringify([language, method, variant ?? name]),
  );
  const byLanguage = groupBy(byVariant.values(), (of) => itemAt(of, 0).language);
  const distinct = [...byLanguage.values()].flatMap((of) =>
    distinctConfigurations(
      of.map((same): Configuration => {
        const { method, variant, name } = itemAt(same, 0);
        return { method: method ?? '', variant: variant ?? name, models: same };
      }),
    ),
  );
  const kept = new Set(distinct.flatMap((of) => of.models));
  return models.filter((model) => kept.has(model));
};

/**
 * Returns each configuration once, ordered by settings. Two configurations are the same if their merges have
 * equal weights, or equal settings and figures.
 */
export const distinctConfigurations = <Of extends Configuration>(configurations: readonly Of[]): Of[] => {
  const entryOf = ({ models }: Configuration): string | null => itemAt(models, 0).entry;
  const sizes = groupBy(configurations, entryOf);
  const rank = (of: Configuration): number =>
    entryOf(of) === 'default' ? Number.POSITIVE_INFINITY : valueAt(sizes, entryOf(of)).length;
  const known = configurations
    .map((of) => ({ of, settings: settingsOf(of), rank: rank(of) }))
    .sort(
      (a, b) =>
        compareNumbers(b.rank, a.rank) ||
        compareTexts(a.settings, b.settings) ||
        compareTexts(a.of.variant, b.of.variant),
    );
  const seen = new Set<string>();
  const distinct = known.filter(({ of, settings }) => {
    const identities = identitiesOf(of, settings);
    const isNew = !identities.some((identity) => seen.has(identity));
    for (const identity of identities) seen.add(identity);
    return isNew;
  });
  return distinct.sort((a, b) => compareTexts(a.settings, b.settings)).map(({ of }) => of);
};

const compareNumbers = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0);

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const settingsOf = ({ method, models }: Configuration): string =>
  JSON.stringify([
    method,
    ...Object.entries(itemAt(models, 0).configuration).sort(([a], [b]) => compareTexts(a, b)),
  ]);

/** Returns texts that identify a configuration. Copies under other names have at least one text in common. */
const identitiesOf = ({ method, models }: Configuration, settings: string): string[] => {
  const byPair = (of: (model: ScoredModel) => unknown): string =>
    models
      .map((model) => JSON.stringify([model.task, model.languageExpert, of(model)]))
      .sort()
      .join();
  const results = ({ results: all }: ScoredModel) => [...all].sort(([a], [b]) => compareTexts(a, b));
  if (models.every(({ results: all }) => all.size === 0)) return [];
  return [
    `weights ${method} ${byPair((model) => results(model)[0]?.[1].weights)}`,
    `figures ${settings} ${byPair((model) => results(model).map(([task, { metrics }]) => [task, metrics]))}`,
  ];
};

/** Settings of a layer swap; missing ones are the method's defaults (§4.2). */
export interface SwapSetting extends Counts {
  /** True for equal weights, averages outside the layers, and norms that follow their layer. */
  readonly isPlain: boolean;
}

/** Returns a swap's setting; undefined for other methods, and for swaps by a partition or by named layers. */
export const swapSetting = ({ method, configuration }: ScoredModel): SwapSetting | undefined => {
  if (method !== 'layer_swap' || !isByCounts(configuration)) return undefined;
  const count = (name: string, otherwise: number): number => {
    const value = configuration[name];
    return typeof value === 'number' ? value : otherwise;
  };
  const { weights = [1, 1], others = 'average', norms = 'layer', scaled = false } = configuration;
  const isUniform = Array.isArray(weights) && weights.every((weight) => weight === weights[0]);
  return {
    bottom: count('bottom', paperCounts.bottom),
    top: count('top', paperCounts.top),
    bottomTransition: count('bottomTransition', 0),
    topTransition: count('topTransition', 0),
    isPlain: isUniform && others === 'average' && norms === 'layer' && scaled === false,
  };
};

/** True for the paper's default: 5 bottom and 2 top layers, no transition, uniform weights (§4.2). */
const isPaperDefault = (model: ScoredModel): boolean => {
  const setting = swapSetting(model);
  return setting?.isPlain === true && arePaperCounts(setting);
};

export const isUniformSoup = ({ method, configuration }: ScoredModel): boolean => {
  const { weights, schedule = 'uniform' } = configuration;
  if (method !== 'soup' || schedule !== 'uniform') return false;
  return (
    weights === undefined || (Array.isArray(weights) && weights.every((weight) => weight === weights[0]))
  );
};

/**
 * Returns a method's default configuration. For layer swaps and soups it is the entry `default`, else the
 * paper's default and the uniform soup. For other methods it is the only configuration.
 */
export const defaultOf = (
  configurations: readonly Configuration[],
  method: string,
): Configuration | undefined => {
  const own = configurations.filter((of) => of.method === method);
  const named = own.filter(({ models }) => itemAt(models, 0).entry === 'default');
  if (named.length === 1) return named[0];
  if (method === 'layer_swap') return own.find(({ models }) => isPaperDefault(itemAt(models, 0)));
  if (method === 'soup') return own.find(({ models }) => isUniformSoup(itemAt(models, 0)));
  return own.length === 1 ? own[0] : undefined;
};

export interface Competition {
  /** Configurations scored for the most pairs: others may lack a hard pair, and would then win unfairly. */
  readonly candidates: readonly Configuration[];
  readonly best: Configuration;
  /** Number of configurations without scores for some pairs. */
  readonly incomplete: number;
}

/**
 * Chooses a language's configuration with the best mean over its pairs. The paper has no rule; this is ours.
 */
export const compete = (
  configurations: readonly Configuration[],
  scores: ReadonlyMap<string, ModelScore>,
): Competition | undefined => {
  const scored = configurations
    .map((of) => ({ ...of, models: of.models.filter(({ name }) => scores.has(name)) }))
    .filter(({ models }) => models.length > 0);
  const most = Math.max(0, ...scored.map(({ models }) => models.length));
  const candidates = scored.filter(({ models }) => models.length === most);
  const [first] = candidates;
  if (first === undefined) return undefined;
  const mean = ({ models }: Configuration) => meanOf(models.map(({ name }) => valueAt(scores, name).value));
  const sign = valueAt(scores, itemAt(first.models, 0).name).isHigherBetter ? 1 : -1;
  return {
    candidates,
    best: candidates.reduce((best, of) => (sign * mean(of) > sign * mean(best) + 1e-12 ? of : best)),
    incomplete: scored.length - candidates.length,
  };
};
