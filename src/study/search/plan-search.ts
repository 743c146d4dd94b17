import { itemAt } from '../../core/base/errors/lookup.js';
import type { PlannedDownload } from '../../core/plan/plan.js';
import type { BatchCost } from '../batch/planning/cost.js';
import type { ExperimentInput } from '../experiment/file/blocks/experiment-block.js';
import type { CostInPlace } from '../experiment/in-place/cost-in-place.js';
import type { ExperimentOptions } from '../experiment/open-experiment.js';
import { planExperiment } from '../experiment/plan-experiment.js';
import { prepareSearch, type SearchQuestion } from './prepare-search.js';
import { forecastSearch } from './search.js';
import { pairOf } from './space/experiment-space.js';
import type { Rows } from './space/landscape.js';
import type { Strategy } from './space/trace.js';
import type { ForecastStep } from './successive-halving.js';

export interface PlanSearchOptions
  extends SearchQuestion,
    Pick<
      ExperimentOptions,
      'store' | 'link' | 'threads' | 'download' | 'resume' | 'layout' | 'maxShardSize' | 'allowNonFinite'
    > {
  /** The search's directory; if undefined, outputs are not checked. */
  readonly out?: string | undefined;
  /** Score merges without writing them. */
  readonly inPlace?: boolean | undefined;
}

/** Plan of a search, without regard to existing results. */
export interface SearchPlan {
  readonly language: string;
  readonly task: string;
  readonly strategy: Strategy;
  readonly pairs: readonly string[];
  readonly configurations: number;
  /** Rows that choose configurations, and number of rows for the final comparison. */
  readonly rows: Rows;
  readonly holdOut: number;
  /** Configuration to compare the choice with. */
  readonly default: string;
  /** Problem-evaluations of all configurations on all problems, and the allowed number. */
  readonly grid: number;
  readonly budget: number;
  /** Steps; figures are upper bounds. */
  readonly steps: readonly ForecastStep[];
  /** Maximum number of problem-evaluations of all steps and of the final comparison, within the budget. */
  readonly evaluations: { readonly search: number; readonly heldOut: number };
  /** Bounds on the number of scored configurations, and on the number of their merges. */
  readonly tried: { readonly fewest: number; readonly most: number };
  readonly merges: { readonly fewest: number; readonly most: number };
  readonly first: readonly string[];
  /** Configurations that are tried only if earlier scores suggest it. */
  readonly notTried: readonly string[];
  /** Configurations that are never tried, because they merge other pairs than the default. */
  readonly otherPairs: readonly string[];
  /** Cost, downloads and impossible merges of the first step. */
  readonly cost: BatchCost;
  readonly download: PlannedDownload;
  readonly inPlace: CostInPlace;
  readonly refused: readonly { readonly merge: string; readonly code: string; readonly message: string }[];
}

/**
 * Plans a search and lists configurations that the budget does not cover. Reads headers of models; writes
 * nothing.
 *
 * @throws SEARCH_INVALID, RECIPE_INVALID, and the codes of `planExperiment`
 */
export const planSearch = async (
  input: ExperimentInput | string,
  options: PlanSearchOptions,
): Promise<SearchPlan> => {
  const { language, task, settings, space, otherPairs, cost, grid, budget, firstRow } = await prepareSearch(
    input,
    options,
  );
  const { points } = space;
  const { rows, reserved, steps, first, most } = forecastSearch(space, cost, { ...settings, budget });
  const begun = new Set(first.flatMap((point) => itemAt(points, point).merges.map(({ name }) => name)));
  const planned = await planExperiment(input, {
    ...options,
    write: options.inPlace ? [] : undefined,
    only: ({ name }) => begun.has(name),
  });
  for (const warning of planned.plan.warnings) options.onWarning?.(warning);
  for (const { message } of planned.wanted) options.onWarning?.(message);
  const nameOf = (point: number): string => itemAt(points, point).name;
  return {
    language,
    task,
    strategy: 'halving',
    pairs: itemAt(points, space.default).merges.map(pairOf),
    configurations: points.length,
    rows: [rows[0] + firstRow, rows[1] + firstRow],
    holdOut: settings.holdOut,
    default: nameOf(space.default),
    grid,
    budget,
    steps,
    evaluations: {
      search: steps.reduce((sum, { evaluations }) => sum + evaluations, 0),
      heldOut: reserved,
    },
    tried: { fewest: first.length, most },
    merges: { fewest: first.length * cost, most: most * cost },
    first: first.map(nameOf),
    notTried: space.order.filter((point) => !first.includes(point)).map(nameOf),
    otherPairs,
    cost: planned.cost,
    download: planned.download,
    inPlace: planned.inPlace,
    refused: planned.plan.refused.map(({ merge, error: { code, message } }) => ({
      merge: merge.name,
      code,
      message,
    })),
  };
};
