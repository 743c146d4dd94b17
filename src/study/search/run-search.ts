import { resolve } from 'node:path';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { groupBy, itemAt } from '../../core/base/errors/lookup.js';
import { hasRecord } from '../batch/planning/record-names.js';
import type { EvaluationResult } from '../evaluation/result.js';
import { ResultFiles } from '../evaluation/result-files.js';
import { ofSamples } from '../evaluation/sampled-result.js';
import type { ExperimentInput } from '../experiment/file/blocks/experiment-block.js';
import type { ExperimentOptions } from '../experiment/open-experiment.js';
import { readRecord } from '../experiment/record/experiment-record.js';
import { runExperiment } from '../experiment/run-experiment.js';
import { evaluateExperiment } from '../experiment/scoring/evaluate-experiment.js';
import { type EvaluateOptions, settingsOf } from '../experiment/scoring/evaluation-options.js';
import { resultsOf } from '../experiment/scoring/requests/wanted-results.js';
import { prepareSearch, type SearchQuestion } from './prepare-search.js';
import { searchSpace } from './search.js';
import { ExperimentLandscape, type Merger, type Scorer } from './space/experiment-landscape.js';
import { type ExperimentPoint, pairOf } from './space/experiment-space.js';
import type { Rows } from './space/landscape.js';
import { type Analysed, pairsProposing } from './space/promising-order.js';
import type { SearchStep, SearchTrace } from './space/trace.js';

export interface SearchOptions
  extends SearchQuestion,
    Pick<
      ExperimentOptions,
      | 'out'
      | 'store'
      | 'link'
      | 'threads'
      | 'download'
      | 'resume'
      | 'signal'
      | 'onProgress'
      | 'layout'
      | 'maxShardSize'
      | 'allowNonFinite'
    >,
    Pick<EvaluateOptions, 'lmEval' | 'jobs'> {
  /** Score merges without writing them; at the end, write the chosen and recommended ones. Default false. */
  readonly inPlace?: boolean | undefined;
  /** Scores merges; default: lm-evaluation-harness by the experiment's `evaluate:` block. */
  readonly score?: Scorer | undefined;
  /** Called after each step of the search. */
  readonly onStep?: ((step: SearchStep) => void) | undefined;
  /** Called when the harness has scored a merge on some rows. */
  readonly onScored?: ((progress: ScoringProgress) => void) | undefined;
}

/** Progress of scoring in a search. */
export interface ScoringProgress {
  readonly merge: string;
  readonly rows: Rows;
  /** Number of merges scored, and number to score, on these rows. */
  readonly done: number;
  readonly total: number;
}

/** Contents of `search.json`. */
export interface SearchRecord extends SearchTrace {
  readonly language: string;
  readonly task: string;
  /** `metric,filter` used for comparisons. */
  readonly metric: string | null;
  readonly pairs: readonly string[];
  /** True if an analysis decided the order. */
  readonly startedFromAnalysis: boolean;
  /** The analysis' proposal, tried first, and its number of pairs; null if the space does not contain it. */
  readonly proposal: { readonly name: string; readonly pairs: number } | null;
  readonly configuration: Readonly<Record<string, unknown>>;
  /** Merges of the chosen configuration. */
  readonly merges: readonly string[];
}

/**
 * Runs a search. Makes merges in the experiment's store when first needed. Keeps scores of growing row ranges
 * in `evaluations/`, so that an interrupted search can resume.
 *
 * @throws RECIPE_INVALID, SEARCH_INVALID, and the codes of `runExperiment` and `evaluateExperiment`
 */
export const runSearch = async (
  input: ExperimentInput | string,
  options: SearchOptions,
): Promise<SearchRecord> => {
  const { language, task, settings, space, budget, firstRow } = await prepareSearch(input, options);
  const { points } = space;
  const merger = mergerOf(input, options);
  const landscape = new ExperimentLandscape(points, {
    merge: merger.merge,
    score: options.score ?? harnessScorer(task, options),
    metric: settings.metric,
    firstRow,
    onFailure: ({ name }, reason) => options.onWarning?.(`${name} is left out: ${reason}`),
  });
  const trace = await searchSpace(space, landscape, { ...settings, budget, onStep: options.onStep });
  const choice = points.find(({ name }) => name === trace.choice);
  if (choice === undefined) throw new RangeError('the choice is a configuration of the space');
  if (options.inPlace) {
    const chosen = points.filter(({ name }) => [trace.choice, trace.recommended].includes(name));
    await merger.write(chosen.flatMap(({ merges }) => merges.map(({ name }) => name)));
  }
  return {
    ...trace,
    language,
    task,
    rows: [trace.rows[0] + firstRow, trace.rows[1] + firstRow],
    metric: landscape.metric ?? null,
    pairs: choice.merges.map(pairOf),
    startedFromAnalysis: options.analysed !== undefined,
    proposal: proposalAt(itemAt(points, itemAt(space.order, 0)), options.analysed),
    configuration: { method: choice.method, ...choice.configuration },
    merges: choice.merges.map(({ name }) => name),
  };
};

const proposalAt = (point: ExperimentPoint, analysed: Analysed | undefined): SearchRecord['proposal'] => {
  const pairs = pairsProposing(point, analysed?.proposals ?? []);
  return pairs === 0 ? null : { name: point.name, pairs };
};

interface ExperimentMerger {
  readonly merge: Merger;
  /** @throws BATCH_INCOMPLETE */
  readonly write: (names: readonly string[]) => Promise<void>;
}

/** Returns functions that make and write merges. Passes on earlier merges, so that the record has them. */
const mergerOf = (input: ExperimentInput | string, options: SearchOptions): ExperimentMerger => {
  const asked = new Set<string>();
  const failed = new Map<string, string>();
  const { out, inPlace = false } = options;
  const run = async (resume: boolean, write: ExperimentOptions['write']) => {
    const recorded = await recordedIn(out);
    return await runExperiment(input, {
      ...options,
      resume,
      write,
      only: ({ name }) => asked.has(name) || recorded.has(name),
    });
  };
  return {
    merge: async (names) => {
      const isNew = names.some((name) => !asked.has(name));
      if (!isNew) return failed;
      // The first call of a new search needs a directory without an experiment.
      const resume = options.resume === true || asked.size > 0;
      for (const name of names) asked.add(name);
      const { merges } = await run(resume, inPlace ? [] : undefined);
      for (const { name, error } of merges) if (error !== undefined) failed.set(name, error.message);
      return failed;
    },
    write: async (names) => {
      const { merges } = await run(true, names);
      const lost = merges.flatMap(({ name, error }) =>
        error === undefined ? [] : [{ merge: name, message: error.message }],
      );
      if (lost.length > 0)
        throw new LayerloomError('BATCH_INCOMPLETE', { out, merges: names.length, failed: lost });
    },
  };
};

const recordedIn = async (out: string): Promise<ReadonlySet<string>> => {
  if (!(await hasRecord(resolve(out)))) return new Set();
  return new Set((await readRecord(resolve(out))).merges.map(({ name }) => name));
};

const harnessScorer = (
  task: string,
  { out, lmEval, jobs, inPlace, signal, onWarning, onScored }: SearchOptions,
): Scorer => {
  const files = new ResultFiles(resolve(out));
  return async (merges, rows) => {
    const results = new Map<string, EvaluationResult>();
    if (merges.length === 0) return results;
    const wanted = new Set(merges);
    const asked = { rows, tasks: [task] };
    let done = 0;
    const { failed, warnings, experiment } = await evaluateExperiment(out, {
      lmEval,
      jobs,
      inPlace,
      signal,
      ...asked,
      only: merges,
      resume: true,
      // A user who names the experiment's file trusts its server commands.
      allowServe: true,
      onScored: ({ model }) => {
        done += 1;
        onScored?.({ merge: model, rows, done, total: wanted.size });
      },
    });
    const found = groupBy(await files.list(), ({ result }) => result.weights);
    const settings = settingsOf(experiment, resolve(out), asked);
    for (const { name, weights } of experiment.merges) {
      if (!wanted.has(name) || weights === undefined) continue;
      const own = resultsOf(found.get(weights) ?? [], weights, task, settings);
      if (own.length < settings.repeatsOf(task)) continue;
      const answers = await Promise.all(
        own.map(async (one) => ({ ...one.result, problems: await files.problemsOf(one) })),
      );
      const joined = ofSamples(answers);
      if (joined !== undefined) results.set(name, joined);
    }
    for (const warning of warnings) onWarning?.(warning);
    for (const { model, message } of failed) onWarning?.(`${model}: ${message}`);
    return results;
  };
};
