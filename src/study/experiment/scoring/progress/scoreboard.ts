import { join } from 'node:path';
import { LayerloomError } from '../../../../core/base/errors/errors.js';
import { groupBy, itemAt } from '../../../../core/base/errors/lookup.js';
import { headlineMetric } from '../../../evaluation/data/task-facts.js';
import { declaredIn } from '../../../evaluation/declared.js';
import type { Score, Scores } from '../../../evaluation/result.js';
import { evaluationsName, type FoundResult, ResultFiles } from '../../../evaluation/result-files.js';
import { isWithin } from '../../../evaluation/rows.js';
import { meanMetrics } from '../../../evaluation/sampled-result.js';
import { ScoredContents } from '../../../evaluation/scored-contents.js';
import { type EvaluationSettings, parseEvaluation } from '../../../evaluation/settings.js';
import { weightsOfMerge } from '../../../store/files/weights.js';
import type { ExperimentRecord, MergeRecord, Scored } from '../../record/experiment-record.js';
import { leftResults } from '../requests/left-results.js';
import { weightsOfReference } from '../requests/models-to-score.js';
import { askedAlike, haveRows, samplesOf } from '../requests/wanted-results.js';
import { ScoreFailures } from './score-failures.js';

/** Matches an experiment's results to its models by weights. */
export class Scoreboard {
  readonly #directory: string;
  readonly #results: ResultFiles;
  readonly #failures: ScoreFailures;
  readonly #contents: ScoredContents;
  readonly #weights = new Map<string, Promise<string | undefined>>();

  constructor(directory: string) {
    this.#directory = directory;
    this.#results = new ResultFiles(directory);
    this.#failures = new ScoreFailures(directory);
    this.#contents = ScoredContents.of(directory);
  }

  /**
   * Returns the record with present scores and failures, and the results that no longer count.
   *
   * @param former the record in the file; missing checkpoints keep its scores
   */
  async fill(record: ExperimentRecord, former: ExperimentRecord | undefined): Promise<ExperimentRecord> {
    const found = await this.#results.list();
    const results = groupBy(found, ({ result }) => result.weights);
    const weightsByName = new Map<string, string>();
    const failures = groupBy(await this.#failures.list(), ({ weights }) => weights);
    const settings = settingsOf(record);
    const scored = <Entry extends Scored & { readonly name: string }>(
      entry: Entry,
      weights: string | undefined,
    ): Entry => {
      const { scores: _scores, scoreErrors: _errors, ...rest } = entry;
      if (weights === undefined) return rest as Entry;
      weightsByName.set(entry.name, weights);
      const scores = scoresOf(results.get(weights) ?? [], settings);
      const errors = (failures.get(weights) ?? []).map(
        ({ task, code, message }) => [task, { code, message }] as const,
      );
      return {
        ...(rest as Entry),
        ...(Object.keys(scores).length === 0 ? {} : { scores }),
        ...(errors.length === 0 ? {} : { scoreErrors: Object.fromEntries(errors) }),
      };
    };
    const { left: _left, ...rest } = record;
    const filled: ExperimentRecord = {
      ...rest,
      merges: await Promise.all(
        record.merges.map(async (merge) => {
          const weights = await this.#weightsOfMerge(merge);
          if (weights === 'unreadable')
            return former?.merges.find(({ name }) => name === merge.name) ?? merge;
          return scored(weights === undefined ? merge : { ...merge, weights }, weights);
        }),
      ),
      references: await Promise.all(
        record.references.map(async (reference) => {
          const weights = await this.#weightsOf(reference.model);
          const { model } = reference;
          return weights === undefined
            ? (former?.references.find((each) => each.model === model) ?? reference)
            : scored(reference, weights);
        }),
      ),
    };
    const left = leftResults(filled, former, weightsByName, found);
    return left.length === 0 ? filled : { ...filled, left };
  }

  /**
   * Returns a merge's weights, or `unreadable`. Reads the merge if the record, of an earlier version, lacks
   * them. @returns undefined if the merge does not exist
   */
  async #weightsOfMerge({ weights, state, path }: MergeRecord): Promise<string | 'unreadable' | undefined> {
    if (weights !== undefined || state !== 'done') return weights;
    return await weightsOfMerge(join(this.#directory, path)).catch((error: unknown) => {
      if (error instanceof LayerloomError && error.code === 'READ_FAILED') return 'unreadable';
      throw error;
    });
  }

  /** @returns undefined if unreadable; the evaluation reports the error */
  #weightsOf(model: string): Promise<string | undefined> {
    const known =
      this.#weights.get(model) ?? weightsOfReference(model, this.#contents, true).catch(() => undefined);
    this.#weights.set(model, known);
    return known;
  }
}

const settingsOf = ({ evaluate }: ExperimentRecord): EvaluationSettings | undefined => {
  try {
    return evaluate === undefined ? undefined : parseEvaluation(evaluate, '/');
  } catch {
    // The evaluation reports the error.
    return undefined;
  }
};

/**
 * Chooses for each task the result to show, or with repeated sampling one result for each answer. Results
 * must have the experiment's shots, seed, token limit, sampling and `problems`. Prefers equal rows, then more
 * problems, then newer results.
 */
export const scoresOf = (found: readonly FoundResult[], settings: EvaluationSettings | undefined): Scores => {
  const scores: [task: string, score: Score][] = [];
  for (const [task, results] of groupBy(found, ({ result }) => result.task)) {
    const sets = settings === undefined ? results.map((one) => [one]) : sampleSets(task, results, settings);
    const [best] = sets
      .map((set) => ({ set, first: itemAt(set, 0) }))
      .sort(
        ({ first: a }, { first: b }) =>
          order(b, settings) - order(a, settings) || (a.result.started < b.result.started ? 1 : -1),
      );
    if (best === undefined) continue;
    const { taskVersion, fewshot, n, rows, maxTokens, sampling } = best.first.result;
    const metrics = meanMetrics(best.set.map(({ result }) => result.metrics));
    const headline = headlineOf(task, metrics, settings);
    const files = best.set.map(({ file }) => `${evaluationsName}/${file}`);
    scores.push([
      task,
      {
        taskVersion,
        fewshot,
        n,
        rows,
        ...(maxTokens === null ? {} : { maxTokens }),
        ...(sampling === null ? {} : { sampling }),
        metrics,
        ...(headline === undefined ? {} : { headline }),
        result: itemAt(files, 0),
        ...(files.length === 1 ? {} : { samples: files }),
      },
    ]);
  }
  return Object.fromEntries(scores.sort(([a], [b]) => (a < b ? -1 : 1)));
};

/** Returns sets of results that have every answer to the same problems under the same settings. */
const sampleSets = (
  task: string,
  results: readonly FoundResult[],
  settings: EvaluationSettings,
): FoundResult[][] => {
  const wanted = results.filter(({ result }) => isWanted(result, settings));
  return [...groupBy(wanted, askedAlike).values()].flatMap((set) => {
    const newestFirst = set.toSorted((a, b) => (a.result.started < b.result.started ? 1 : -1));
    const each = samplesOf(task, settings).map(({ sample }) =>
      newestFirst.find(({ result }) => result.seed === settings.seedOf(sample)),
    );
    const whole = each.filter((result) => result !== undefined);
    return whole.length < each.length ? [] : [whole];
  });
};

/** Chooses a metric for this result alone; tables choose one metric for all models. */
const headlineOf = (
  task: string,
  metrics: Score['metrics'],
  settings: EvaluationSettings | undefined,
): string | undefined =>
  headlineMetric(
    task,
    Object.keys(metrics).filter((metric) => metrics[metric] !== null),
    declaredIn(settings),
  );

const isWanted = (
  { task, fewshot, sampling, maxTokens, rows, n }: FoundResult['result'],
  settings: EvaluationSettings,
): boolean =>
  isWithin(rows ?? (n > 0 ? [0, n] : null), settings.rangeOf(task)) &&
  sampling === settings.samplingTextOf(task) &&
  fewshot === (settings.fewshotOf(task) ?? fewshot) &&
  maxTokens === settings.maxTokensOf(task);

const order = ({ result }: FoundResult, settings: EvaluationSettings | undefined): number => {
  const isAsStated = settings !== undefined && haveRows(result, settings.rowsOf(result.task));
  return isAsStated ? Number.POSITIVE_INFINITY : result.n;
};
