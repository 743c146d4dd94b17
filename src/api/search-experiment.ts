import { join, resolve } from 'node:path';
import { LayerloomError } from '../core/base/errors/errors.js';
import { exists } from '../core/base/files/exists.js';
import { requireOut } from '../core/base/files/require-out.js';
import { writeWhole } from '../core/engine/output/durable.js';
import {
  expertFile,
  proposalsName,
  readProposals,
  readShares,
} from '../core/measure/analysis/advice/saved-analysis.js';
import type { JsonFault } from '../core/models/checkpoint/files/json-file.js';
import type { ExperimentInput } from '../study/experiment/file/blocks/experiment-block.js';
import { parseExperiment, readExperiment } from '../study/experiment/file/read-experiment.js';
import type { PlanSearchOptions, SearchPlan } from '../study/search/plan-search.js';
import type { SearchOptions, SearchRecord } from '../study/search/run-search.js';
import type { Analysed, LayerShares } from '../study/search/space/promising-order.js';

/** Options of `searchExperiment`. Defaults are in the experiment's `search`. */
export interface SearchExperimentOptions extends Omit<SearchOptions, 'analysed'> {
  /** Directory of `analyze`. The experts' shares of change and the proposed swaps in it decide the order. */
  readonly analysis?: string | undefined;
}

export interface SearchResult extends SearchRecord {
  /** Absolute path of the directory with the merges, `evaluations/`, `search.json` and `search.svg`. */
  readonly out: string;
  readonly warnings: readonly string[];
}

/**
 * Searches for a language's best configuration in an experiment, within a budget of problem-evaluations (one
 * model on one problem). Compares the choice with the default on unused problems. Writes `search.json` and
 * `search.svg`. With `resume`, continues without asking any model again.
 *
 * @example await searchExperiment('swahili.yaml', { out: './swahili', budget: '25%' })
 * @throws LayerloomError SEARCH_INVALID, RECIPE_INVALID, and the codes of `runExperiment` and
 * `evaluateExperiment`. A configuration that cannot be merged or scored is skipped with a warning
 */
export const searchExperiment = async (
  input: ExperimentInput | string,
  { analysis, onWarning, ...options }: SearchExperimentOptions,
): Promise<SearchResult> => {
  requireOut(options);
  const { runSearch } = await import('../study/search/run-search.js');
  const { drawPicture } = await import('../study/pages/pictures/draw-picture.js');
  const { SearchPicture } = await import('../study/pages/pictures/search.js');
  const out = resolve(options.out);
  const warnings: string[] = [];
  const record = await runSearch(input, {
    ...options,
    out,
    analysed: analysis === undefined ? undefined : await analysedIn(analysis, input, options.directory),
    onWarning: (warning) => {
      if (warnings.includes(warning)) return;
      warnings.push(warning);
      onWarning?.(warning);
    },
  });
  await writeWhole(join(out, 'search.json'), `${JSON.stringify(record, null, 2)}\n`);
  await writeWhole(join(out, 'search.svg'), drawPicture(SearchPicture, { search: record }));
  return { ...record, out, warnings };
};

/** Options of `planSearchExperiment`. Defaults are in the experiment's `search`. */
export interface PlanSearchExperimentOptions
  extends Omit<PlanSearchOptions, 'analysed'>,
    Pick<SearchExperimentOptions, 'analysis'> {}

/**
 * Plans `searchExperiment` without writing: steps, numbers of merges and problem-evaluations, and
 * configurations that the budget does not cover.
 *
 * @example const { merges, steps } = await planSearchExperiment('swahili.yaml', { budget: '25%' })
 * @throws LayerloomError as `searchExperiment` before its first merge
 */
export const planSearchExperiment = async (
  input: ExperimentInput | string,
  { analysis, ...options }: PlanSearchExperimentOptions,
): Promise<SearchPlan> => {
  const { planSearch } = await import('../study/search/plan-search.js');
  return await planSearch(input, {
    ...options,
    analysed: analysis === undefined ? undefined : await analysedIn(analysis, input, options.directory),
  });
};

/** @throws LayerloomError ANALYSIS_MISMATCH */
const analysedIn = async (
  analysis: string,
  input: ExperimentInput | string,
  directory: string | undefined,
): Promise<Analysed> => {
  const file = join(analysis, proposalsName);
  return {
    shares: await sharesIn(analysis, input, directory),
    proposals: (await exists(file)) ? await readProposals(file, mismatchIn(file)) : [],
  };
};

/** Reads the experts' shares of change by layer. @throws LayerloomError ANALYSIS_MISMATCH */
const sharesIn = async (
  analysis: string,
  input: ExperimentInput | string,
  directory: string | undefined,
): Promise<LayerShares> => {
  const experiment = await (typeof input === 'string'
    ? readExperiment(input)
    : parseExperiment(input, { directory }));
  const names = [
    ...experiment.tasks.keys(),
    ...[...experiment.languages.values()].flatMap((experts) => [...experts.keys()]),
  ];
  const shares = await Promise.all(
    names.map(async (name) => [name, await layersOf(analysis, name)] as const),
  );
  return Object.fromEntries(
    shares.flatMap(([name, layers]) => (layers === undefined ? [] : [[name, layers]])),
  );
};

/** @returns undefined if the expert was not analysed */
const layersOf = async (analysis: string, name: string): Promise<readonly number[] | undefined> => {
  const file = join(analysis, expertFile(name));
  if (!(await exists(file))) return undefined;
  return (await readShares(file, mismatchIn(file))).shares.layers;
};

const mismatchIn =
  (file: string) =>
  ({ reason, cause, isRead }: JsonFault): LayerloomError =>
    new LayerloomError(
      'ANALYSIS_MISMATCH',
      { file, reason: isRead ? reason : `cannot be read: ${reason}` },
      { cause },
    );
