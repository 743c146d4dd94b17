import { setTimeout as pause } from 'node:timers/promises';
import { checkInterrupt, LayerloomError } from '../../../../core/base/errors/errors.js';
import type { ScoredContents } from '../../../evaluation/scored-contents.js';
import type { EvaluationSettings } from '../../../evaluation/settings.js';
import type { MergesInPlace } from '../../in-place/merges-in-place.js';
import type { ExperimentRecord } from '../../record/experiment-record.js';
import { WatchedRecord } from '../../record/watched-record.js';
import { type EvaluateOptions, selectModels } from '../evaluation-options.js';
import type { Scoring } from '../prepare-scoring.js';
import { lackingIn, type ModelToScore, modelsToScore, weightsOf } from '../requests/models-to-score.js';
import type { OpenModel, TimeLeft } from '../requests/time-left.js';
import { isBatchWorking } from './batch-at-work.js';
import type { ScoringOrder } from './scoring-order.js';

const lookEveryMs = 1000;

const isRecent = (at: number | undefined): boolean =>
  at !== undefined && performance.now() - at < lookEveryMs;

/** Returns the wanted models. An unwritten merge has `inPlace`. */
export const wantedModels = (
  record: ExperimentRecord,
  settings: EvaluationSettings,
  directory: string,
  options: EvaluateOptions,
  inPlace?: MergesInPlace,
): ModelToScore[] =>
  selectModels(modelsToScore(record, settings, directory), options).map((model) =>
    model.kind === 'merge' && inPlace?.has(model.name) ? { ...model, inPlace } : model,
  );

interface QueuedEvaluation {
  readonly directory: string;
  readonly options: EvaluateOptions;
  readonly settings: EvaluationSettings;
  readonly contents: ScoredContents;
  readonly order: ScoringOrder;
  readonly time: TimeLeft;
  readonly without: Scoring['without'];
  readonly inPlace: MergesInPlace | undefined;
}

/** Models that an evaluation has yet to score. A batch may be making more. */
export class ModelQueue {
  readonly #evaluation: QueuedEvaluation;
  /** States of finished models. */
  readonly settled = new Map<string, 'scored' | 'kept' | 'impossible' | 'failed'>();
  readonly #running = new Set<string>();
  readonly #busy = new Map<string, number>();
  readonly #there = new Set<string>();
  /** Missing merges: time of the last check, and whether a batch may still make the merge. */
  readonly #absent = new Map<string, { readonly at: number; readonly mayCome: boolean }>();
  readonly #watched: WatchedRecord;
  #listed: { readonly of: ExperimentRecord; readonly total: number } | undefined;
  #open = new Map<string, ModelToScore>();
  #lacking: readonly OpenModel[] = [];

  constructor(evaluation: QueuedEvaluation) {
    this.#evaluation = evaluation;
    this.#watched = new WatchedRecord(evaluation.directory);
  }

  /** Returns a lane's next model; waits while a batch may make another model. */
  async next(lane: number): Promise<ModelToScore | undefined> {
    const { directory, options, order } = this.#evaluation;
    for (;;) {
      checkInterrupt(options.signal);
      // Checks for a batch before reading the record: if the batch has ended, the record is complete.
      const isWorking = await isBatchWorking(directory);
      this.#list(await this.#watched.read());
      const there: ModelToScore[] = [];
      for (const model of this.#open.values()) if (await this.#isThere(model, isWorking)) there.push(model);
      const lacking = new Set(this.#lacking.flatMap(({ name, tasks }) => (tasks.length > 0 ? [name] : [])));
      await order.learn(there.filter(({ name }) => lacking.has(name)));
      // Other lanes may have taken some models meanwhile.
      const free = there.filter(({ name }) => !this.#running.has(name) && !this.settled.has(name));
      // Models with all results come first, because they need not be loaded.
      const kept = free.filter(({ name }) => !lacking.has(name));
      const model = order.take(lane, order.mostUrgent(kept.length > 0 ? kept : free))?.model;
      if (model !== undefined) {
        this.#running.add(model.name);
        this.report();
        return model;
      }
      this.report();
      if (this.#busy.size === 0 && !isWorking) return undefined;
      await pause(lookEveryMs, undefined, { signal: options.signal }).catch(() => undefined);
    }
  }

  /** Called when a lane has finished a model. @param state undefined after an error */
  end(name: string, state?: 'busy' | 'scored' | 'kept' | 'impossible' | 'failed'): void {
    this.#running.delete(name);
    if (state === undefined) return;
    if (state === 'busy') {
      this.#busy.set(name, performance.now());
      this.#there.delete(name);
      return;
    }
    this.#busy.delete(name);
    this.settled.set(name, state);
    this.#open.delete(name);
  }

  #list(record: ExperimentRecord): void {
    if (this.#listed?.of === record) return;
    const { settings, directory, options, inPlace, without } = this.#evaluation;
    const models = wantedModels(record, settings, directory, options, inPlace);
    this.#listed = { of: record, total: models.length };
    const known = options.force ? { references: [], merges: [] } : record;
    const lacking = lackingIn(known, models, settings);
    this.#lacking = lacking.map(({ name, tasks }) => ({
      name,
      tasks: tasks.filter((task) => !without.has(task)),
    }));
    this.#open = new Map(
      models.filter(({ name }) => !this.settled.has(name)).map((model) => [model.name, model]),
    );
  }

  /** False for a model that another process scores, or that was checked recently. */
  async #isThere(model: ModelToScore, isWorking: boolean): Promise<boolean> {
    const { name, kind } = model;
    if (this.#running.has(name) || isRecent(this.#busy.get(name))) return false;
    if (kind !== 'merge' || model.inPlace !== undefined || this.#there.has(name)) return true;
    const absent = this.#absent.get(name);
    if (absent !== undefined && (isWorking ? isRecent(absent.at) : !absent.mayCome)) return false;
    // If reading fails, scoring the model reports the error.
    const isThere = await weightsOf(model, this.#evaluation.contents).then(
      (weights) => weights !== undefined,
      (error: unknown) => {
        if (error instanceof LayerloomError && error.code === 'READ_FAILED') return true;
        throw error;
      },
    );
    if (isThere) {
      this.#absent.delete(name);
      this.#there.add(name);
      return true;
    }
    this.#busy.delete(name);
    this.#absent.set(name, { at: performance.now(), mayCome: isWorking });
    return false;
  }

  report(): void {
    const { options, time } = this.#evaluation;
    // Excludes merges that no batch will make.
    const coming = [...this.#open.keys()].filter((name) => this.#absent.get(name)?.mayCome !== false);
    options.onProgress?.({
      done: this.settled.size,
      failed: [...this.settled.values()].filter((state) => state === 'failed').length,
      total: this.#listed?.total ?? 0,
      running: [...this.#running],
      waiting: coming.length - this.#running.size,
      requests: time.requests,
      secondsLeft: time.secondsOf(this.#lacking.filter(({ name }) => coming.includes(name))),
    });
  }
}
