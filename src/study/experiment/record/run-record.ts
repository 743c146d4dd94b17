import { join, resolve } from 'node:path';
import { version } from '../../../core/base/files/version.js';
import type { MergeOutcome } from '../../batch/merge-tracker.js';
import type { BatchMerge } from '../../batch/planning/batch-merge.js';
import type { BatchPlan } from '../../batch/planning/batch-plan.js';
import type { BatchCost } from '../../batch/planning/cost.js';
import type { BatchOptions, BatchResult } from '../../batch/run-batch.js';
import { weightsOfShards } from '../../store/files/weights.js';
import type { ExperimentMerge } from '../file/expand.js';
import type { Experiment } from '../file/read-experiment.js';
import { experimentReferences } from '../file/references.js';
import { workOf } from '../measured-merging.js';
import { type MergeChanges, recordedOptions } from '../recorded-options.js';
import type { ExperimentRecord, MergeRecord } from './experiment-record.js';

type Moved = Pick<BatchResult, 'bytesRead' | 'bytesWritten'>;

/** Makes a run's records from its plan and the outcomes so far. */
export class RunRecord {
  readonly #experiment: Experiment;
  readonly #merges: readonly ExperimentMerge[];
  readonly #options: Pick<BatchOptions, 'out' | 'store' | 'first'> & MergeChanges;
  readonly #started: number;
  readonly #former: ExperimentRecord | undefined;
  readonly #outcomes = new Map<string, MergeOutcome>();
  readonly #planned = new Map<string, Pick<MergeRecord, 'weights' | 'basis'>>();

  /** @param started as from `performance.now()` */
  constructor(
    experiment: Experiment,
    merges: readonly ExperimentMerge[],
    options: Pick<BatchOptions, 'out' | 'store' | 'first'> & MergeChanges,
    started: number,
    former?: ExperimentRecord,
  ) {
    this.#experiment = experiment;
    this.#merges = merges;
    this.#options = options;
    this.#started = started;
    this.#former = former;
  }

  addPlan({ merges }: Pick<BatchPlan<BatchMerge>, 'merges'>): void {
    for (const { merge, shards, basis } of merges)
      this.#planned.set(merge.name, {
        weights: weightsOfShards(shards.map(({ key }) => key)),
        ...(basis === undefined ? {} : { basis }),
      });
  }

  addOutcome(outcome: MergeOutcome): void {
    this.#outcomes.set(outcome.name, outcome);
  }

  of(state: ExperimentRecord['state'], cost: BatchCost, moved: Moved): ExperimentRecord {
    const { text, base, evaluate } = this.#experiment;
    const { out, store = join(out, '.store'), first } = this.#options;
    const seconds = (performance.now() - this.#started) / 1000;
    const isNothingDone = state === 'done' && [...this.#outcomes.values()].every(({ isKept }) => isKept);
    // If the run made nothing, the record keeps the former figures.
    const figures =
      isNothingDone && this.#former?.state === 'done' ? this.#former : { cost, ...moved, seconds };
    return {
      layerloom: version,
      state,
      experiment: text,
      base: base ?? null,
      store: resolve(store),
      options: recordedOptions(this.#experiment, this.#options),
      merges: this.#mergeRecords(seconds),
      references: experimentReferences(this.#experiment),
      ...(first === undefined ? {} : { first }),
      ...(evaluate === undefined ? {} : { evaluate }),
      cost: figures.cost,
      bytesRead: figures.bytesRead,
      bytesWritten: figures.bytesWritten,
      seconds: figures.seconds,
    };
  }

  #mergeRecords(seconds: number): MergeRecord[] {
    const former = new Map(this.#former?.merges.map((merge) => [merge.path, merge]));
    const secondsOf = sharesOf([...this.#outcomes.values()], seconds);
    return this.#merges.map(({ name, language, task, languageExpert, method, configuration, path }) => {
      const outcome = this.#outcomes.get(name);
      const planned = this.#planned.get(name);
      const weights = outcome === undefined ? planned?.weights : outcome.weights;
      const before = outcome?.isKept === true ? former.get(path) : undefined;
      // An earlier run made this merge.
      const { shards, bytesRead, bytesWritten } =
        before?.state === 'done'
          ? before
          : (outcome ?? { shards: { shared: 0, new: 0 }, bytesRead: 0, bytesWritten: 0 });
      return {
        ...{ name, language, task, languageExpert, method, configuration, path },
        state: outcome?.state ?? 'pending',
        ...{ shards, bytesRead, bytesWritten },
        seconds: before?.state === 'done' ? before.seconds : secondsOf(outcome),
        ...(weights === undefined ? {} : { weights }),
        ...(outcome?.error === undefined ? {} : { error: outcome.error }),
        ...(planned?.basis === undefined ? {} : { basis: planned.basis }),
      };
    });
  }
}

const sharesOf = (outcomes: readonly MergeOutcome[], seconds: number) => {
  const work = ({ bytesWritten, bytesRead }: MergeOutcome): number => workOf(bytesWritten, bytesRead);
  const all = outcomes.reduce((sum, outcome) => sum + work(outcome), 0);
  return (outcome: MergeOutcome | undefined): number =>
    outcome === undefined || all === 0 ? 0 : (seconds * work(outcome)) / all;
};
