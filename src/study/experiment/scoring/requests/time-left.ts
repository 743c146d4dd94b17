import type { Requests } from '../../../evaluation/harness/harness-progress.js';
import { type Pace, paceOf } from '../../../evaluation/pace.js';
import type { ResultSummary } from '../../../evaluation/result-files.js';
import type { EvaluationSettings } from '../../../evaluation/settings.js';

/** Model and its unscored tasks, once per missing answer. */
export interface OpenModel {
  readonly name: string;
  readonly tasks: readonly string[];
}

export interface RunningRequests extends Requests {
  readonly model: string;
}

interface Running {
  readonly tasks: readonly string[];
  readonly since: number;
  readonly requests: Requests | undefined;
  /** Tasks scored by earlier runs. */
  readonly before: readonly string[];
}

/** Below this share of finished requests, loading dominates a run's pace. */
const settledShare = 0.05;

/** Estimates an evaluation's remaining time from results and the requests of current runs. */
export class TimeLeft {
  readonly #settings: EvaluationSettings;
  readonly #jobs: number;
  readonly #now: () => number;
  readonly #results: ResultSummary[];
  readonly #running = new Map<string, Running>();
  #pace: Pace;

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

  get requests(): RunningRequests[] {
    return [...this.#running].flatMap(([model, { requests }]) =>
      requests === undefined ? [] : [{ model, ...requests }],
    );
  }

  begin(model: string, tasks: readonly string[]): void {
    const former = this.#running.get(model);
    const before = former === undefined ? [] : [...former.before, ...former.tasks];
    this.#running.set(model, { tasks, since: this.#now(), requests: undefined, before });
  }

  answered(model: string, requests: Requests): void {
    const running = this.#running.get(model);
    if (running !== undefined) this.#running.set(model, { ...running, requests });
  }

  end(model: string, results: readonly ResultSummary[]): void {
    this.#running.delete(model);
    if (results.length === 0) return;
    this.#results.push(...results);
    this.#pace = paceOf(this.#results);
  }

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
    const later = [...tasks];
    for (const task of [...running.before, ...running.tasks])
      if (later.includes(task)) later.splice(later.indexOf(task), 1);
    const [now, then] = [this.#leftOf(running), this.#measured(later)];
    return now === undefined || then === undefined ? undefined : now + then;
  }

  /** Returns the seconds that these tasks take according to results; undefined if a task has none. */
  #measured(tasks: readonly string[]): number | undefined {
    const each = tasks.map((task) => this.#pace.secondsOf(task, this.#settings.rowsOf(task)));
    return each.reduce<number | undefined>(
      (sum, seconds) => (sum === undefined || seconds === undefined ? undefined : sum + seconds),
      0,
    );
  }

  /** Extrapolates a run's total seconds from its finished requests. */
  #wholeOf({ since, requests }: Running): number | undefined {
    const share = requests === undefined || requests.total === 0 ? 0 : requests.done / requests.total;
    return share < settledShare ? undefined : (this.#now() - since) / 1000 / share;
  }

  #leftOf(running: Running): number | undefined {
    const [own, measured] = [this.#wholeOf(running), this.#measured(running.tasks)];
    // Loading makes a run look slow at first, so a run's own pace counts more as it progresses.
    const share = running.requests === undefined ? 0 : running.requests.done / running.requests.total;
    const whole =
      own === undefined || measured === undefined ? (own ?? measured) : share * own + (1 - share) * measured;
    return whole === undefined ? undefined : Math.max(0, whole - (this.#now() - running.since) / 1000);
  }

  /** Estimates seconds from a current run of the same tasks, if there are no results. */
  #likeRunning(tasks: readonly string[]): number | undefined {
    const key = [...tasks].sort().join(' ');
    for (const running of this.#running.values()) {
      const whole = this.#wholeOf(running);
      if (whole !== undefined && [...running.tasks].sort().join(' ') === key) return whole;
    }
    return undefined;
  }
}
