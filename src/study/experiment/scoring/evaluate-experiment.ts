import { resolve } from 'node:path';
import { checkInterrupt, LayerloomError } from '../../../core/base/errors/errors.js';
import { optionName } from '../../../core/base/errors/option-name.js';
import { harnessCommand } from '../../evaluation/harness/harness-command.js';
import {
  exchangesWeights,
  HarnessProcess,
  knownHarnessVersion,
} from '../../evaluation/harness/harness-process.js';
import type { Score } from '../../evaluation/result.js';
import { type FoundResult, ResultFiles } from '../../evaluation/result-files.js';
import { ScoredContents } from '../../evaluation/scored-contents.js';
import { WeightSwapServer } from '../../evaluation/servers/weight-swap-server.js';
import { WeightsToLoad } from '../../evaluation/servers/weights-to-load.js';
import type { EvaluationSettings } from '../../evaluation/settings.js';
import { checkExpected } from '../expected.js';
import type { MergesInPlace } from '../in-place/merges-in-place.js';
import { checkMadeHere } from '../made-here.js';
import { type ExperimentRecord, readRecord } from '../record/experiment-record.js';
import { RecordFile } from '../record/record-file.js';
import { type EvaluateOptions, inTurn, settingsOf } from './evaluation-options.js';
import { checkInPlace, openInPlace } from './in-place.js';
import { prepareScoring, type Scoring } from './prepare-scoring.js';
import { ModelQueue, wantedModels } from './progress/model-queue.js';
import { noteContents } from './progress/note-contents.js';
import { ScoreFailures } from './progress/score-failures.js';
import { ScoringOrder } from './progress/scoring-order.js';
import { asksOf } from './requests/asks.js';
import { describeLeft } from './requests/left-results.js';
import { type ModelToScore, weightsOf } from './requests/models-to-score.js';
import { TimeLeft } from './requests/time-left.js';
import { describeTrained } from './requests/trained-problems.js';
import { scoredTexts, trainingFactsOf } from './requests/training-facts.js';
import { environmentOf, type ScoringContext, type ScoringOutcome, scoreModel } from './score-model.js';

/** Models that an evaluation scored, kept, or failed to score. */
export interface EvaluationOutcome {
  readonly directory: string;
  /** Models that this run scored, and models that already had all results. */
  readonly scored: readonly string[];
  readonly kept: readonly string[];
  /** Numbers of new and existing results, one per model and task. */
  readonly results: { readonly made: number; readonly there: number };
  /** Failures by model and task, including tasks that could not be run for any model. */
  readonly failed: readonly { readonly model: string; readonly code: string; readonly message: string }[];
  /** Pending or failed merges, which cannot be scored. */
  readonly missing: readonly string[];
  readonly warnings: readonly string[];
  readonly seconds: number;
  /** Bytes that shared processes loaded, and their models' size. Processes for one model report neither. */
  readonly weights: { readonly loaded: number; readonly ofModels: number };
  /** Number of merges scored in place, and bytes computed for them; null without `inPlace`. */
  readonly inPlace: { readonly merges: number; readonly bytes: number } | null;
  readonly experiment: ExperimentRecord;
}

/**
 * Scores an experiment's base, experts, references and merges with lm-evaluation-harness, as its `evaluate:` block
 * says, and records scores in `experiment.json`.
 *
 * Results are stored by weights: equal merges are scored once, and results with the same task, shots, seed
 * and rows are reused. During a batch, models are scored as they appear. A failure is recorded, and the other models
 * continue.
 *
 * @param directory of an experiment, which `runExperiment` may still be running on
 * @throws EXPERIMENT_MISSING, EXPERIMENT_INVALID, RECIPE_INVALID, HARNESS_MISSING, SERVE_NOT_ALLOWED,
 * JOBS_OUTDATED, IN_PLACE_REFUSED, INTERRUPTED; READ_FAILED if results cannot be read. Failing models and
 * tasks do not throw; they are in `failed`.
 */
export const evaluateExperiment = async (
  directory: string,
  options: EvaluateOptions = {},
): Promise<EvaluationOutcome> => {
  const place = resolve(directory);
  try {
    return await new Evaluation(place, options).run();
  } catch (error) {
    if (!(error instanceof LayerloomError) || error.code !== 'INTERRUPTED') throw error;
    const answers = options.resume ? 'kept' : 'lost';
    const fate = options.resume
      ? `kept, and ${optionName('resume')} continues from them`
      : `lost, unless ${optionName('resume')} is set`;
    const state = `finished scores are in ${place}, and are not made again; answers of models that were being scored are ${fate}`;
    throw new LayerloomError('INTERRUPTED', { state, evaluation: place, answers }, { cause: error });
  }
};

class Evaluation {
  readonly #directory: string;
  readonly #options: EvaluateOptions;
  readonly #started = performance.now();
  readonly #results: ResultFiles;
  readonly #failures: ScoreFailures;
  readonly #record: RecordFile;
  readonly #contents: ScoredContents;
  readonly #warnings = new Set<string>();
  #made = 0;
  readonly #loaded = { loaded: 0, ofModels: 0 };
  readonly #failed: { model: string; code: string; message: string }[] = [];

  constructor(directory: string, options: EvaluateOptions) {
    this.#directory = directory;
    this.#options = options;
    this.#results = new ResultFiles(directory);
    this.#failures = new ScoreFailures(directory);
    this.#record = new RecordFile(directory);
    this.#contents = ScoredContents.of(directory);
  }

  async run(): Promise<EvaluationOutcome> {
    const first = await readRecord(this.#directory);
    const { expect } = this.#options;
    if (expect !== undefined) checkExpected(expect, first.experiment, this.#directory);
    const settings = settingsOf(first, this.#directory, this.#options);
    if (!this.#options.allowServe) await checkMadeHere(this.#directory, settings);
    const command = harnessCommand(this.#options.lmEval);
    const { signal } = this.#options;
    if (this.#options.inPlace) checkInPlace(settings, this.#options.separate ?? false, this.#directory);
    await using scoring = await prepareScoring(this.#directory, settings, command, {
      signal,
      asks: asksOf(this.#options),
      onImpossible: this.#options.onImpossible,
    });
    await using inPlace = this.#options.inPlace ? await this.#openInPlace(first, settings) : undefined;
    for (const note of scoring.notes) this.#warnings.add(note);
    const { jobs } = settings;
    const found = (await this.#results.list()).map(({ result }) => result);
    const time = new TimeLeft(settings, jobs, found);
    const weights = new WeightsToLoad();
    let isEnding = false;
    const { separate = false } = this.#options;
    const isExchanging = await exchangesWeights(settings, command, separate);
    const order = new ScoringOrder(first, isExchanging, inPlace?.contents);
    const queue = new ModelQueue({
      directory: this.#directory,
      options: this.#options,
      contents: this.#contents,
      without: scoring.without,
      ...{ settings, order, time, inPlace },
    });
    const notes = this.#noteContents(first);
    const lanes = Array.from({ length: jobs }, async (_, lane) => {
      const device = inTurn(settings.devices, lane);
      const baseUrl = inTurn(settings.baseUrls, lane);
      const environment = environmentOf({ scoring, device });
      await using kept = new HarnessProcess(command, environment, weights);
      const { exchange, serve, serveTimeout: timeoutSeconds, fingerprint } = settings;
      // A running server is shared by all models in any case.
      await using exchanging =
        exchange === undefined || (separate && serve !== undefined)
          ? undefined
          : new WeightSwapServer(
              { exchange, serve, url: baseUrl, timeoutSeconds, fingerprint, environment },
              weights,
            );
      try {
        while (!isEnding) {
          const model = await queue.next(lane);
          if (model === undefined) return;
          const state = await this.#score(model, queue, time, {
            ...{ scoring, device, baseUrl, kept: separate ? undefined : kept, exchanging },
          });
          if (state !== 'scored') order.putBack(lane);
        }
      } catch (error) {
        isEnding = true;
        throw error;
      }
    });
    const ended = await Promise.allSettled(lanes);
    await notes.end(ended.every(({ status }) => status === 'fulfilled'));
    const record = await this.#record.update(() => readRecord(this.#directory));
    this.#failed.push(...this.#impossible(scoring, settings, record));
    for (const lane of ended) if (lane.status === 'rejected') throw lane.reason;
    checkInterrupt(this.#options.signal);
    for (const line of describeLeft(record, this.#directory, first)) this.#warnings.add(line);
    const { problems } = await trainingFactsOf(
      this.#directory,
      record,
      await scoredTexts(this.#directory, record),
    );
    for (const trained of problems) this.#warnings.add(describeTrained(trained));
    return this.#outcome(record, settings, queue, inPlace);
  }

  /** Records the models' contents, so that moved models keep their results. Runs beside the scoring. */
  #noteContents(record: ExperimentRecord): { end(isWhole: boolean): Promise<void> } {
    const { signal } = this.#options;
    const stopping = new AbortController();
    const stop = () => stopping.abort();
    signal?.addEventListener('abort', stop);
    if (signal?.aborted) stop();
    const noting = noteContents(record, this.#directory, this.#contents, stopping.signal).catch(
      (error: unknown) => {
        if (!(error instanceof LayerloomError)) throw error;
        if (error.code !== 'INTERRUPTED')
          this.#warnings.add(`${error.message}; if its models are moved, their results will not be found`);
      },
    );
    return {
      end: async (isWhole) => {
        if (!isWhole) stop();
        await noting;
        signal?.removeEventListener('abort', stop);
      },
    };
  }

  #models(record: ExperimentRecord, settings: EvaluationSettings): ModelToScore[] {
    return wantedModels(record, settings, this.#directory, this.#options);
  }

  async #openInPlace(record: ExperimentRecord, settings: EvaluationSettings): Promise<MergesInPlace> {
    const { download, signal } = this.#options;
    const names = new Set<string>();
    for (const model of this.#models(record, settings))
      if (model.kind === 'merge' && (await weightsOf(model, this.#contents)) === undefined)
        names.add(model.name);
    const opened = await openInPlace(record, names, this.#directory, { download, signal });
    for (const warning of opened.warnings) this.#warnings.add(warning);
    const [name, ...others] = opened.withoutDonor;
    if (name !== undefined)
      this.#warnings.add(
        `${name}${others.length === 0 ? '' : ` and ${others.length} other merges`} cannot be scored in place, because no model has tensors of the same names, shapes and dtypes; written to ${opened.directory}, and removed at the end`,
      );
    return opened;
  }

  async #score(
    model: ModelToScore,
    queue: ModelQueue,
    time: TimeLeft,
    lane: Pick<ScoringContext, 'scoring' | 'device' | 'baseUrl' | 'kept' | 'exchanging'>,
  ): Promise<ScoringOutcome['state']> {
    const { force = false, resume = false, download = false, signal } = this.#options;
    let isLoaded = false;
    let state: Parameters<ModelQueue['end']>[1];
    try {
      const outcome = await scoreModel(model, {
        ...lane,
        onLoaded: ({ bytes, ofBytes }) => {
          this.#loaded.loaded += bytes;
          // A model is loaded once, but has a run for each number of few-shot examples.
          if (!isLoaded) this.#loaded.ofModels += ofBytes;
          isLoaded = true;
        },
        force,
        resume,
        download,
        signal,
        results: this.#results,
        failures: this.#failures,
        onRun: (tasks) => time.begin(model.name, tasks),
        onRequests: (requests) => {
          time.answered(model.name, requests);
          queue.report();
        },
      });
      time.end(
        model.name,
        outcome.results.map(({ result }) => result),
      );
      state = outcome.failed.length > 0 ? 'failed' : outcome.state;
      if (outcome.state === 'busy') return outcome.state;
      for (const { result } of outcome.results) this.#checkVersion(result);
      this.#made += outcome.results.length;
      for (const failure of outcome.failed) this.#failed.push({ model: model.name, ...failure });
      if (outcome.state === 'scored') this.#record.updateSoon(() => readRecord(this.#directory));
      this.#options.onScored?.(outcome);
      return outcome.state;
    } finally {
      queue.end(model.name, state);
    }
  }

  /** Returns a failure per task, unless all results were imported. */
  #impossible(
    { without }: Scoring,
    settings: EvaluationSettings,
    record: ExperimentRecord,
  ): EvaluationOutcome['failed'] {
    const models = this.#models(record, settings);
    const scores = scoresIn(record);
    return [...without].flatMap(([task, error]) =>
      models.some(({ name, tasks }) => tasks.includes(task) && scores(name, task) === undefined)
        ? [{ model: task, ...error }]
        : [],
    );
  }

  #checkVersion({ harness }: FoundResult['result']): void {
    if (harness.version !== knownHarnessVersion)
      this.#warnings.add(
        `lm_eval ${harness.version} was used; its tasks and figures may differ from those of ${knownHarnessVersion}, with which this layerloom was tested`,
      );
  }

  #outcome(
    record: ExperimentRecord,
    settings: EvaluationSettings,
    { settled }: ModelQueue,
    inPlace: MergesInPlace | undefined,
  ): EvaluationOutcome {
    const models = this.#models(record, settings);
    const of = (state: string) =>
      models.filter(({ name }) => settled.get(name) === state).map(({ name }) => name);
    const scores = scoresIn(record);
    const there = models
      .flatMap(({ name, tasks }) => tasks.map((task) => scores(name, task)))
      .reduce((sum, score) => sum + (score === undefined ? 0 : (score.samples?.length ?? 1)), 0);
    return {
      directory: this.#directory,
      results: { made: this.#made, there: Math.max(0, there - this.#made) },
      scored: of('scored'),
      kept: of('kept'),
      failed: this.#failed,
      missing: models.filter(({ name }) => !settled.has(name)).map(({ name }) => name),
      warnings: [...this.#warnings],
      weights: this.#loaded,
      inPlace: inPlace === undefined ? null : { merges: inPlace.merges.size, bytes: inPlace.bytesMade },
      seconds: (performance.now() - this.#started) / 1000,
      experiment: record,
    };
  }
}

const scoresIn = ({
  references,
  merges,
}: ExperimentRecord): ((model: string, task: string) => Score | undefined) => {
  const scores = new Map([...references, ...merges].map((entry) => [entry.name, entry.scores]));
  return (model, task) => scores.get(model)?.[task];
};
