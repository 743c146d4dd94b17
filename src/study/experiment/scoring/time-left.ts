import type { Requests } from '../../evaluation/harness/harness-progress.js';
import { type Pace, paceOf } from '../../evaluation/pace.js';
import type { ResultSummary } from '../../evaluation/result-files.js';
import type { EvaluationSettings } from '../../evaluation/settings.js';

/** A model with the tasks that it has no results of. */
export interface OpenModel {
  readonly name: string;
  readonly tasks: readonly string[];
}

/** Requests of the run that scores a model now. */
export interface RunningRequests extends Requests {
  readonly model: string;
}

/** A run of the harness that is under way. */
interface Running {
  readonly tasks: readonly string[];
  readonly since: number;
  readonly requests: Requests | undefined;
  /** Tasks of the model that earlier runs have scored. */
  readonly before: readonly string[];
}

/** Share of a run's requests from which on its own pace is trusted: before it, most time was for loading the model. */
const settledShare = 0.05;

/**
 * Estimates how long an evaluation still takes: from the durations of results in its directory, and from the requests of
 * the runs under way.
 */
export class TimeLeft {
  readonly #settings: EvaluationSettings;
  readonly #jobs: number;
  readonly #now: () => number;
  readonly #results: ResultSummary[];
  readonly #running = new Map<string, Running>();
  #pace: Pace;

  /** @param now milliseconds */
  constructor(
    settings: EvaluationSettings,
    jobs: number,
    results: readonly ResultSummary[],
    now: () => number = () => performance.now(),
  ) {
    this.#settings = settings;
    this.#jobs = jobs;
    this.#now = now;
    this.#results = [...results];
    this.#pace = paceOf(results);
  }

  /** Requests of the runs under way, where their bars say them. */
  get requests(): RunningRequests[] {
    return [...this.#running].flatMap(([model, { requests }]) =>
      requests === undefined ? [] : [{ model, ...requests }],
    );
  }

  /** A run of the harness begins for a model. */
  begin(model: string, tasks: readonly string[]): void {
    const former = this.#running.get(model);
    const before = former === undefined ? [] : [...former.before, ...former.tasks];
    this.#running.set(model, { tasks, since: this.#now(), requests: undefined, before });
  }

  /** The run of a model has answered some of its requests. */
  answered(model: string, requests: Requests): void {
    const running = this.#running.get(model);
    if (running !== undefined) this.#running.set(model, { ...running, requests });
  }

  /** A model has ended, with these results. */
  end(model: string, results: readonly ResultSummary[]): void {
    this.#running.delete(model);
    if (results.length === 0) return;
    this.#results.push(...results);
    this.#pace = paceOf(this.#results);
  }

  /** Returns the seconds that some models still take; null where something about them has not been measured. */
  secondsOf(models: readonly OpenModel[]): number | null {
    const each = models.map((model) => this.#secondsOf(model));
    const known = each.filter((seconds) => seconds !== undefined);
    if (known.length < each.length) return null;
    const all = known.reduce((sum, seconds) => sum + seconds, 0);
    return Math.max(all / this.#jobs, ...known, 0);
  }

  #secondsOf({ name, tasks }: OpenModel): number | undefined {
    const running = this.#running.get(name);
    if (running === undefined) return this.#measured(tasks) ?? this.#likeRunning(tasks);
    const later = tasks.filter((task) => ![...running.before, ...running.tasks].includes(task));
    const [now, then] = [this.#leftOf(running), this.#measured(later)];
    return now === undefined || then === undefined ? undefined : now + then;
  }

  /** Seconds by results; undefined if one of the tasks has none. */
  #measured(tasks: readonly string[]): number | undefined {
    const each = tasks.map((task) => this.#pace.secondsOf(task, this.#settings.rowsOf(task)));
    return each.reduce<number | undefined>(
      (sum, seconds) => (sum === undefined || seconds === undefined ? undefined : sum + seconds),
      0,
    );
  }

  /** Seconds that a run takes in all, by its own requests. */
  #wholeOf({ since, requests }: Running): number | undefined {
    const share = requests === undefined || requests.total === 0 ? 0 : requests.done / requests.total;
    return share < settledShare ? undefined : (this.#now() - since) / 1000 / share;
  }

  #leftOf(running: Running): number | undefined {
    const [own, measured] = [this.#wholeOf(running), this.#measured(running.tasks)];
    // At the start the loading of the model makes a run look slow: its own pace counts as much as it has done.
    const share = running.requests === undefined ? 0 : running.requests.done / running.requests.total;
    const whole =
      own === undefined || measured === undefined ? (own ?? measured) : share * own + (1 - share) * measured;
    return whole === undefined ? undefined : Math.max(0, whole - (this.#now() - running.since) / 1000);
  }

  /** Seconds of a model in the tasks of a run under way, while no result tells. */
  #likeRunning(tasks: readonly string[]): number | undefined {
    const key = [...tasks].sort().join(' ');
    for (const running of this.#running.values()) {
      const whole = this.#wholeOf(running);
      if (whole !== undefined && [...running.tasks].sort().join(' ') === key) return whole;
    }
    return undefined;
  }
}
