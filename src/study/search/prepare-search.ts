import { LayerloomError } from '../../core/base/errors/errors.js';
import { invalidParameter } from '../../core/base/errors/invalid-parameter.js';
import { itemAt, ownValue } from '../../core/base/errors/lookup.js';
import { optionName } from '../../core/base/errors/option-name.js';
import { checkOptions } from '../../core/methods/recipe/block.js';
import { declaredIn } from '../evaluation/declared.js';
import type { Rows } from '../evaluation/rows.js';
import { parseEvaluation } from '../evaluation/settings.js';
import type { ExperimentInput } from '../experiment/file/blocks/experiment-block.js';
import {
  type SearchBlock,
  type SearchSettings,
  searchSchema,
} from '../experiment/file/blocks/search-block.js';
import { expandExperiment } from '../experiment/file/expand.js';
import { type Experiment, parseExperiment, readExperiment } from '../experiment/file/read-experiment.js';
import { type ExperimentPoint, experimentSpace, pairOf } from './space/experiment-space.js';
import { type Analysed, orderByAnalysis, orderBySeed } from './space/promising-order.js';
import type { SearchSpace } from './space/space.js';

export interface SearchQuestion extends SearchBlock {
  /** Base of relative paths, for an experiment given as an object. */
  readonly directory?: string | undefined;
  /** Language; required if the experiment has several. */
  readonly language?: string | undefined;
  /** Pairs to score, such as `math-1+swh-2`; default: all of the language. */
  readonly pairs?: readonly string[] | undefined;
  /** Analysis that decides which configurations to try first. */
  readonly analysed?: Analysed | undefined;
  /** Called with warnings, such as about a configuration that is left out. */
  readonly onWarning?: ((warning: string) => void) | undefined;
}

export interface PreparedSearch {
  readonly language: string;
  readonly task: string;
  readonly settings: SearchSettings & { readonly holdOut: number };
  readonly space: Omit<SearchSpace, 'points'> & { readonly points: readonly ExperimentPoint[] };
  /** Configurations that do not merge the same pairs as the default. */
  readonly otherPairs: readonly string[];
  /** First row to score, from `problems` of `evaluate:`. The search counts rows from this one. */
  readonly firstRow: number;
  readonly cost: number;
  /** Problem-evaluations of all configurations on all problems, and the allowed number. */
  readonly grid: number;
  readonly budget: number;
}

/**
 * Derives a search's settings and space without reading models or writing.
 *
 * @throws RECIPE_INVALID, SEARCH_INVALID, INVALID_PARAMETER
 */
export const prepareSearch = async (
  input: ExperimentInput | string,
  options: SearchQuestion,
): Promise<PreparedSearch> => {
  const { directory, pairs, analysed, onWarning } = options;
  const experiment = await (typeof input === 'string'
    ? readExperiment(input)
    : parseExperiment(input, { directory }));
  const language = languageOf([...experiment.languages.keys()], options.language);
  const task = taskToSearch(experiment, language, options);
  const range =
    experiment.evaluate?.tasks === undefined
      ? null
      : parseEvaluation(experiment.evaluate, experiment.directory).rangeOf(task);
  const metric =
    options.metric ?? experiment.search?.metric ?? declaredIn(experiment.evaluate).get(task)?.metric;
  const settings = searchSettingsOf({ ...options, metric }, experiment.search, range);
  if (settings.strategy === 'descent')
    onWarning?.(
      'the strategy descent was replaced by halving, which finds better configurations; halving is used',
    );
  const { entries } = settings;
  const merges = expandExperiment(experiment).filter(
    (merge) =>
      merge.language === language &&
      (entries === undefined || entries.includes(itemAt(experiment.merges, merge.entry).name)) &&
      (pairs === undefined || pairs.includes(pairOf(merge))),
  );
  const { otherPairs, ...made } = experimentSpace(merges, settings.default);
  if (otherPairs.length > 0)
    onWarning?.(
      `${otherPairs.length} configurations are excluded, because they merge other models than the default: ${otherPairs.slice(0, 3).join(', ')}${otherPairs.length > 3 ? ', …' : ''}`,
    );
  const order =
    analysed === undefined
      ? orderBySeed(made.points.length, made.default, settings.seed)
      : orderByAnalysis(made.points, analysed);
  const cost = itemAt(made.points, 0).merges.length;
  const grid = made.points.length * settings.problems * cost;
  return {
    language,
    task,
    firstRow: range?.[0] ?? 0,
    settings,
    space: { ...made, order },
    otherPairs,
    cost,
    grid,
    budget: budgetOf(settings.budget, grid),
  };
};

/** @throws SEARCH_INVALID if neither options nor the experiment name a task */
const taskToSearch = (
  { search, evaluate }: Pick<Experiment, 'search' | 'evaluate'>,
  language: string,
  options: SearchQuestion,
): string => options.task ?? search?.task ?? taskOf(ownValue(evaluate?.tasks ?? {}, language), language);

/**
 * Returns a search's settings; options override the experiment's `search:` block. `problems` defaults to the
 * number of rows in `evaluate:`.
 */
const searchSettingsOf = (
  options: SearchQuestion,
  block: SearchBlock | undefined,
  range: Rows | null,
): PreparedSearch['settings'] => {
  const asked = Object.entries(options).filter(
    ([key, value]) => Object.hasOwn(searchSchema.shape, key) && value !== undefined,
  );
  const most = range === null ? undefined : range[1] - range[0];
  const settings = checkOptions(searchSchema, {
    ...(most === undefined ? {} : { problems: most }),
    ...block,
    ...Object.fromEntries(asked),
  });
  if (range !== null && most !== undefined && settings.problems > most)
    throw invalidParameter(
      'problems',
      settings.problems,
      `at most ${most}, the number of problems in evaluate: (${range[0]}-${range[1] - 1})`,
    );
  const { problems, holdOut = heldOutOf(problems) } = settings;
  if (holdOut >= problems)
    throw invalidParameter('hold-out', holdOut, `a whole number from 1 to ${problems - 1}`);
  return { ...settings, holdOut };
};

/** Returns a third of the problems, in tens: 80 of 250. */
const heldOutOf = (problems: number): number =>
  problems < 30 ? Math.max(1, Math.floor(problems / 3)) : Math.floor(problems / 30) * 10;

const languageOf = (known: readonly string[], given: string | undefined): string => {
  const [only, more] = known;
  if (given === undefined && only !== undefined && more === undefined) return only;
  if (given !== undefined && known.includes(given)) return given;
  throw new LayerloomError('SEARCH_INVALID', {
    reason:
      given === undefined
        ? 'the experiment has several languages'
        : `${given} is not a language of the experiment`,
    remedy: `choose one with ${optionName('language')}: ${known.join(', ')}`,
  });
};

const taskOf = (tasks: string | readonly string[] | undefined, language: string): string => {
  const first = typeof tasks === 'string' ? tasks : tasks?.[0];
  if (first !== undefined) return first;
  throw new LayerloomError('SEARCH_INVALID', {
    reason: `the experiment has no task of ${language}`,
    remedy: 'name it under evaluate: {tasks: {…}}',
  });
};

const budgetOf = (given: number | string, grid: number): number =>
  typeof given === 'number' ? given : Math.floor((grid * Number.parseFloat(given)) / 100);
