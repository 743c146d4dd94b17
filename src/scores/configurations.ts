import { groupBy, itemAt, valueAt } from '../base/lookup.js';
import { isByCounts } from '../methods/swap-counts.js';
import { meanOf } from './mean.js';
import type { ModelScore } from './model-score.js';
import type { ScoredModel } from './scored-experiment.js';

/** The models of one configuration: one for each pair of experts of a language. */
export interface Configuration {
  /** As the experiment names it: `default`, `grid/b3-u0-tb0-tu0`. */
  readonly variant: string;
  readonly method: string;
  readonly models: readonly ScoredModel[];
}

const ofSoups = ['soup', 'all-soup'];

/** True for a merge of one task expert and one language expert, neither of them a soup. */
export const isPair = ({ role, task, languageExpert }: ScoredModel): boolean =>
  role === 'merge' &&
  task !== null &&
  languageExpert !== null &&
  !ofSoups.includes(task) &&
  !ofSoups.includes(languageExpert);

/** Returns the configurations of the pairs of a language, in the experiment's order. */
export const configurationsOf = (models: readonly ScoredModel[], language: string): Configuration[] => {
  const pairs = models.filter(
    (model) =>
      isPair(model) && model.language === language && model.method !== null && model.variant !== null,
  );
  return [...groupBy(pairs, ({ method, variant }) => `${method} ${variant}`).values()].map((of) => {
    const { method, variant } = itemAt(of, 0);
    return { method: method as string, variant: variant as string, models: of };
  });
};

/** What distinguishes layer swaps from one another; parameters that are not stated have the method's defaults (§4.2). */
export interface SwapSetting {
  readonly bottom: number;
  readonly top: number;
  readonly bottomTransition: number;
  readonly topTransition: number;
  /** True for equal weights, average outside the layers, and norms that follow their layer. */
  readonly isPlain: boolean;
}

/** Returns the setting of a layer swap; undefined for other methods, and for swaps by a partition or by layers that are named. */
export const swapSetting = ({ method, configuration }: ScoredModel): SwapSetting | undefined => {
  if (method !== 'layer_swap' || !isByCounts(configuration)) return undefined;
  const count = (name: string, otherwise: number): number => {
    const value = configuration[name];
    return typeof value === 'number' ? value : otherwise;
  };
  const { weights = [1, 1], others = 'average', norms = 'layer', scaled = false } = configuration;
  const isUniform = Array.isArray(weights) && weights.every((weight) => weight === weights[0]);
  return {
    bottom: count('bottom', 5),
    top: count('top', 2),
    bottomTransition: count('bottomTransition', 0),
    topTransition: count('topTransition', 0),
    isPlain: isUniform && others === 'average' && norms === 'layer' && scaled === false,
  };
};

/** True for the paper's default: 5 bottom and 2 top layers, no transition, uniform weights (§4.2). */
const isPaperDefault = (model: ScoredModel): boolean => {
  const setting = swapSetting(model);
  return (
    setting?.isPlain === true &&
    setting.bottom === 5 &&
    setting.top === 2 &&
    setting.bottomTransition === 0 &&
    setting.topTransition === 0
  );
};

/**
 * Returns the default configuration of a method: of layer swaps the experiment's entry `default`, else the paper's; of
 * soups the uniform one; of other methods the only one, if there is one.
 */
export const defaultOf = (
  configurations: readonly Configuration[],
  method: string,
): Configuration | undefined => {
  const own = configurations.filter((of) => of.method === method);
  const named = own.filter(({ models }) => itemAt(models, 0).entry === 'default');
  if (named.length === 1) return named[0];
  if (method === 'layer_swap') return own.find(({ models }) => isPaperDefault(itemAt(models, 0)));
  if (method === 'soup')
    return own.find(({ models }) => itemAt(models, 0).configuration['weights'] !== 'magnitude');
  return own.length === 1 ? own[0] : undefined;
};

/** The configurations of a method that compete in one language, and the best of them. */
export interface Competition {
  /**
   * Those that were scored for the most pairs, since others could win by lacking a hard pair. Of configurations whose
   * merges have the same weights, which grids may repeat under another name, the first.
   */
  readonly candidates: readonly Configuration[];
  readonly best: Configuration;
  /** Number of configurations that lack scores of some pairs. */
  readonly incomplete: number;
}

/**
 * Chooses the one configuration of a language that has the best mean over its pairs (ours; the paper does not say how
 * its best is chosen).
 *
 * @param scores by model name
 */
export const compete = (
  configurations: readonly Configuration[],
  scores: ReadonlyMap<string, ModelScore>,
): Competition | undefined => {
  const scored = configurations
    .map((of) => ({ ...of, models: of.models.filter(({ name }) => scores.has(name)) }))
    .filter(({ models }) => models.length > 0);
  const most = Math.max(0, ...scored.map(({ models }) => models.length));
  const complete = scored.filter(({ models }) => models.length === most);
  const candidates = [
    ...new Map(complete.map((of) => [identityOf(of), of] as const).reverse()).values(),
  ].reverse();
  const [first] = candidates;
  if (first === undefined) return undefined;
  const mean = ({ models }: Configuration) => meanOf(models.map(({ name }) => valueAt(scores, name).value));
  const sign = valueAt(scores, itemAt(first.models, 0).name).isHigherBetter ? 1 : -1;
  return {
    candidates,
    best: candidates.reduce((best, of) => (sign * mean(of) > sign * mean(best) + 1e-12 ? of : best)),
    incomplete: scored.length - complete.length,
  };
};

/** Returns the same text for configurations whose merges have the same weights. */
const identityOf = ({ models }: Configuration): string =>
  models
    .map(({ results }) => [...results.values()][0]?.weights)
    .sort()
    .join();
