import { basename, resolve } from 'node:path';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { ResultFiles } from '../../evaluation/result-files.js';
import type { ExperimentRecord } from '../../experiment/record/experiment-record.js';
import { WatchedRecord } from '../../experiment/record/watched-record.js';
import { selectModels, settingsOf } from '../../experiment/scoring/evaluation-options.js';
import { isBatchWorking } from '../../experiment/scoring/progress/batch-at-work.js';
import { ScoreFailures } from '../../experiment/scoring/progress/score-failures.js';
import { asksNow } from '../../experiment/scoring/requests/asks.js';
import { modelsToScore } from '../../experiment/scoring/requests/models-to-score.js';
import { runningRequests } from '../../experiment/scoring/requests/running-requests.js';
import {
  type OpenModel,
  type RunningRequests,
  TimeLeft,
} from '../../experiment/scoring/requests/time-left.js';
import { type RunStatus, trainingStatusOf } from '../../training/status.js';

/** Progress of countable work. */
export interface Amount {
  readonly done: number;
  readonly failed: number;
  readonly total: number;
}

export interface MergesState extends Amount {
  readonly isWorking: boolean;
  /** Bytes that the last run wrote, and planned to write. */
  readonly bytes: { readonly written: number; readonly total: number } | null;
  /** Seconds until all merges are made; null if unknown, 0 if done. */
  readonly secondsLeft: number | null;
}

/** Progress of a study's scores, counted by model and task. */
export interface ScoresState extends Amount {
  readonly tasks: readonly (Amount & { readonly task: string })[];
  readonly running: readonly RunningRequests[];
  readonly secondsLeft: number | null;
}

/** An error in a study. */
export interface StudyError {
  /** ISO 8601; null if unknown. */
  readonly at: string | null;
  readonly what: string;
  readonly message: string;
}

/** The state of a study at one moment. */
export interface StudyState {
  readonly title: string;
  readonly directory: string;
  readonly at: string;
  readonly training: readonly RunStatus[] | null;
  /** Merges; null before a batch has begun. */
  readonly merges: MergesState | null;
  /** Scores; null for an experiment without `evaluate:`. */
  readonly scores: ScoresState | null;
  readonly errors: readonly StudyError[];
  /** Files that could not be read this time; earlier figures are kept. */
  readonly unread: readonly string[];
}

const mostErrors = 12;

export class StudyWatch {
  readonly #directory: string;
  readonly #training: readonly string[];
  readonly #record: WatchedRecord;
  readonly #results: ResultFiles;
  readonly #failures: ScoreFailures;
  #lastRecord: ExperimentRecord | undefined;
  #lastTraining: readonly RunStatus[] | null = null;
  #unread: string[] = [];

  constructor(directory: string, training: readonly string[] = []) {
    this.#directory = resolve(directory);
    this.#training = training;
    this.#record = new WatchedRecord(this.#directory);
    this.#results = new ResultFiles(this.#directory);
    this.#failures = new ScoreFailures(this.#directory);
  }

  /**
   * Returns the present state. An unreadable record or training keeps its last value; other unreadable files
   * count as absent.
   */
  async look(): Promise<StudyState> {
    this.#unread = [];
    const training = await this.#trainingNow();
    const record = await this.#recordNow();
    return {
      title: basename(this.#directory),
      directory: this.#directory,
      at: new Date().toISOString(),
      training,
      merges: record === undefined ? null : await this.#mergesOf(record),
      scores: record === undefined ? null : await this.#scoresOf(record),
      errors: await this.#errorsOf(record),
      unread: this.#unread,
    };
  }

  async #recordNow(): Promise<ExperimentRecord | undefined> {
    this.#lastRecord =
      (await this.#attempt(['EXPERIMENT_MISSING'], () => this.#record.read())) ?? this.#lastRecord;
    return this.#lastRecord;
  }

  async #trainingNow(): Promise<readonly RunStatus[] | null> {
    if (this.#training.length === 0) return null;
    const status = await this.#attempt([], () => trainingStatusOf(this.#training));
    this.#lastTraining = status?.runs ?? this.#lastTraining;
    return this.#lastTraining;
  }

  /**
   * Runs work that may fail while other processes write. Records the reason, unless its code means that nothing exists
   * yet.
   */
  async #attempt<T>(expected: readonly string[], work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof LayerloomError)) throw error;
      if (!expected.includes(error.code)) this.#unread.push(error.message);
      return undefined;
    }
  }

  async #mergesOf({ merges, bytesWritten, cost, seconds, state }: ExperimentRecord): Promise<MergesState> {
    const done = merges.filter((merge) => merge.state === 'done').length;
    const failed = merges.filter((merge) => merge.state === 'failed').length;
    const isWorking = (await this.#attempt([], () => isBatchWorking(this.#directory))) ?? false;
    // Records of earlier versions lack these numbers.
    const total = Number.isFinite(cost.bytesToWrite) ? cost.bytesToWrite : 0;
    const isLeft = isWorking && state === 'running' && done + failed < merges.length;
    const secondsLeft = !isLeft
      ? done + failed === merges.length
        ? 0
        : null
      : bytesWritten > 0 && total > 0
        ? (seconds * Math.max(0, total - bytesWritten)) / bytesWritten
        : null;
    return {
      ...{ done, failed, total: merges.length, isWorking, secondsLeft },
      bytes: total > 0 ? { written: bytesWritten, total } : null,
    };
  }

  async #scoresOf(record: ExperimentRecord): Promise<ScoresState | null> {
    if (record.evaluate?.tasks === undefined) return null;
    const settings = await this.#attempt([], async () => settingsOf(record, this.#directory));
    if (settings === undefined) return null;
    const models = modelsToScore(record, settings, this.#directory);
    const entries = new Map([...record.references, ...record.merges].map((each) => [each.name, each]));
    const stateOf = (name: string, task: string): keyof Amount | 'open' => {
      const { scores, scoreErrors } = entries.get(name) ?? {};
      return scores?.[task] !== undefined ? 'done' : scoreErrors?.[task] !== undefined ? 'failed' : 'open';
    };
    const all = models.flatMap((model) =>
      model.tasks.map((task) => ({ model: model.name, task, state: stateOf(model.name, task) })),
    );
    const amountOf = (some: typeof all): Amount => ({
      done: some.filter(({ state }) => state === 'done').length,
      failed: some.filter(({ state }) => state === 'failed').length,
      total: some.length,
    });
    const warn = (warning: string) => this.#unread.push(warning);
    const found = (await this.#attempt([], () => this.#results.list(warn))) ?? [];
    const open = models
      .map(({ name, tasks }) => ({
        name,
        tasks: tasks.filter((task) => stateOf(name, task) === 'open'),
      }))
      .filter(({ tasks }) => tasks.length > 0);
    const running = await runningRequests(
      this.#directory,
      open.map(({ name }) => name),
    );
    const time = new TimeLeft(
      settings,
      settings.jobs,
      found.map(({ result }) => result),
    );
    const asked = await this.#askedOf(record, open);
    const whole = time.secondsOf(asked);
    const answered = running.reduce((sum, { model, done, total }) => {
      const seconds = time.secondsOf(open.filter(({ name }) => name === model)) ?? 0;
      return sum + (seconds * done) / Math.max(1, total) / settings.jobs;
    }, 0);
    return {
      ...amountOf(all),
      tasks: [...new Set(all.map(({ task }) => task))].map((task) => ({
        task,
        ...amountOf(all.filter((of) => of.task === task)),
      })),
      running,
      secondsLeft: whole === null ? null : Math.max(0, whole - answered),
    };
  }

  /** Returns the open tasks of running evaluations, or all open tasks if none run. */
  async #askedOf(record: ExperimentRecord, open: readonly OpenModel[]): Promise<readonly OpenModel[]> {
    const asks = (await this.#attempt([], () => asksNow(this.#directory))) ?? [];
    if (asks.length === 0) return open;
    const wanted = new Map<string, Set<string>>();
    for (const each of asks)
      await this.#attempt(['INVALID_PARAMETER'], async () => {
        const settings = settingsOf(record, this.#directory, each);
        for (const { name, tasks } of selectModels(modelsToScore(record, settings, this.#directory), each))
          wanted.set(name, new Set([...(wanted.get(name) ?? []), ...tasks]));
      });
    return open.map(({ name, tasks }) => ({
      name,
      tasks: tasks.filter((task) => wanted.get(name)?.has(task)),
    }));
  }

  async #errorsOf(record: ExperimentRecord | undefined): Promise<StudyError[]> {
    const found = (await this.#attempt([], () => this.#failures.list())) ?? [];
    const scoring = found
      .map(({ at, model, task, message }) => ({ at, what: `${model}, ${task}`, message }))
      .sort((a, b) => (a.at < b.at ? 1 : -1));
    const merging = (record?.merges ?? []).flatMap(({ name, error }) =>
      error === undefined ? [] : [{ at: null, what: name, message: error.message }],
    );
    return [...scoring, ...merging].slice(0, mostErrors);
  }
}
