import { join } from 'node:path';
import { writeStatement } from '../../core/attestation/attest-output.js';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { itemAt } from '../../core/base/errors/lookup.js';
import { exists } from '../../core/base/files/exists.js';
import { withCode } from '../../core/base/files/writing.js';
import { refusedNonFinite } from '../../core/engine/compute/measures/non-finite.js';
import type { InputFiles } from '../../core/engine/input-files.js';
import type { Link } from '../../core/engine/output/link.js';
import { foreignFiles } from '../../core/engine/output/output.js';
import type { Run } from '../../core/engine/run.js';
import { readWrittenRecord } from '../../core/measure/verification/written-record.js';
import { statementName } from '../../core/models/checkpoint/files/file-names.js';
import type { PlanOptions } from '../../core/plan/compile/plan-recipe.js';
import { sourcesOfTensors } from '../../core/plan/operands.js';
import type { PlannedInput } from '../../core/plan/plan.js';
import { idByPath } from '../../core/tensor/stored-tensor.js';
import { weightsOfShards } from '../store/files/weights.js';
import type { ShardStore } from '../store/shard-store.js';
import { assemble, hasNotes, isAssembled } from './assemble.js';
import { BatchDigests } from './batch-digests.js';
import type { BatchMerge, MergeState, RefusedMerge } from './planning/batch-merge.js';
import { type BatchPlan, type PlannedMerge, plannedInputsOf, planOf } from './planning/batch-plan.js';
import type { Part } from './planning/part.js';
import type { Stage } from './planning/stages.js';
import { storedNonFinite } from './stored-non-finite.js';

/** Outcome of a merge of a batch. */
export interface MergeOutcome {
  readonly name: string;
  readonly state: MergeState;
  /** Number of shards: `shared` come from other merges or earlier runs, `new` were made for this merge. */
  readonly shards: { readonly shared: number; readonly new: number };
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly isKept?: true;
  readonly weights?: string;
  readonly error?: { readonly code: string; readonly message: string };
}

export const failureOf = ({ merge, error }: RefusedMerge<BatchMerge>): MergeOutcome => ({
  name: merge.name,
  state: 'failed',
  shards: { shared: 0, new: 0 },
  bytesRead: 0,
  bytesWritten: 0,
  error: { code: error.code, message: error.message },
});

export interface TrackerOptions extends PlanOptions {
  readonly out: string;
  /** Part of an array job, which assembles no merges. */
  readonly range?: Part | undefined;
  /** Write a statement of each merge. */
  readonly attest?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onMerge?: ((outcome: MergeOutcome) => void | Promise<void>) | undefined;
}

/** Returns for each merge the input bytes that no earlier merge of its stage needs. */
export const readsOf = (
  { merges, inputs }: BatchPlan<BatchMerge>,
  stages: readonly Stage<BatchMerge>[],
): ReadonlyMap<PlannedMerge<BatchMerge>, number> => {
  const toMake = new Map(
    stages.flatMap(({ groups }, stage) =>
      groups.flatMap(({ shards }) =>
        shards.map((shard) => [shard.key, { tensors: shard.tensors, stage }] as const),
      ),
    ),
  );
  const idOf = idByPath(inputs);
  const seen = stages.map(() => new Set<string>());
  const reads = new Map<PlannedMerge<BatchMerge>, number>();
  for (const merge of merges)
    for (const { key } of merge.shards) {
      const shard = toMake.get(key);
      if (shard === undefined) continue;
      toMake.delete(key);
      for (const source of sourcesOfTensors(shard.tensors)) {
        const range = idOf(source);
        const ofStage = itemAt(seen, shard.stage);
        if (!ofStage.has(range)) reads.set(merge, (reads.get(merge) ?? 0) + source.end - source.begin);
        ofStage.add(range);
      }
    }
  return reads;
};

/** Codes of errors that all other merges would have too. */
const stopsAll: readonly string[] = ['WRITE_FAILED', 'LINK_REFUSED', 'DISK_SPACE', 'INPUT_CHANGED'];

export class MergeTracker {
  readonly #plan: BatchPlan<BatchMerge>;
  readonly #options: TrackerOptions;
  readonly #store: ShardStore;
  readonly #inputs: InputFiles;
  readonly #link: Link;
  readonly #needing = new Map<string, Set<PlannedMerge<BatchMerge>>>();
  readonly #waiting = new Map<PlannedMerge<BatchMerge>, Set<string>>();
  readonly #made = new Map<string, number>();
  readonly #outcomes = new Map<PlannedMerge<BatchMerge>, MergeOutcome>();
  readonly #reads: ReadonlyMap<PlannedMerge<BatchMerge>, number>;
  readonly #run: Run;
  readonly #digests: BatchDigests | undefined;
  readonly warnings: string[] = [];
  /** Assembles merges concurrently, so that the fsyncs of small files overlap. */
  readonly #lanes: Promise<void>[] = Array.from({ length: 8 }, () => Promise.resolve());
  #next = 0;
  #stopped: unknown;
  done = 0;

  constructor(
    plan: BatchPlan<BatchMerge>,
    options: TrackerOptions,
    store: ShardStore,
    inputs: InputFiles,
    link: Link,
    reads: ReadonlyMap<PlannedMerge<BatchMerge>, number>,
    run: Run,
  ) {
    this.#reads = reads;
    this.#run = run;

    this.#plan = plan;
    this.#options = options;
    this.#store = store;
    this.#inputs = inputs;
    this.#link = link;
    const stated = new Map(
      plan.merges.flatMap((merge) => plannedInputsOf(merge, plan).map((input) => [input.path, input])),
    );
    this.#digests = options.attest ? new BatchDigests([...stated.values()], inputs, run.pool) : undefined;
    for (const merge of plan.merges) {
      const keys = new Set(
        merge.shards.filter(({ verbatim }) => verbatim === undefined).map(({ key }) => key),
      );
      this.#waiting.set(merge, keys);
      for (const key of keys) {
        const needing = this.#needing.get(key) ?? new Set();
        this.#needing.set(key, needing.add(merge));
      }
      if (keys.size === 0) this.#putTogether(merge);
    }
  }

  /**
   * Notes that a shard is in the store; assembles merges that are now complete. @param made the shard's bytes
   * if this run made it
   */
  async ready(key: string, made: number | undefined): Promise<void> {
    if (made !== undefined) this.#made.set(key, made);
    await this.#refuseNonFinite(key);
    for (const merge of this.#needing.get(key) ?? []) {
      const waiting = this.#waiting.get(merge);
      waiting?.delete(key);
      if (waiting?.size === 0 && !this.#outcomes.has(merge)) this.#putTogether(merge);
    }
    if (this.#stopped !== undefined) throw this.#stopped;
  }

  /** Fails merges that do not allow a shard's NaN or infinity. */
  async #refuseNonFinite(key: string): Promise<void> {
    const refusing = [...(this.#needing.get(key) ?? [])].filter(
      (merge) => !merge.recipe.allowNonFinite && !this.#outcomes.has(merge),
    );
    const shard = this.#plan.shards.get(key);
    if (shard === undefined || refusing.length === 0 || this.#options.range !== undefined) return;
    const found = await storedNonFinite(shard, this.#store, this.#run.pool);
    if (found !== null) for (const merge of refusing) await this.#fail(merge, refusedNonFinite(found));
  }

  async failed(key: string, error: unknown): Promise<void> {
    for (const merge of this.#needing.get(key) ?? [])
      if (!this.#outcomes.has(merge)) await this.#fail(merge, error);
  }

  /** @throws the error that stops the batch */
  async settled(): Promise<void> {
    await Promise.all(this.#lanes);
    if (this.#stopped !== undefined) throw this.#stopped;
  }

  /** Waits until the merges being assembled are complete. */
  async stop(reason: unknown): Promise<void> {
    this.#stopped ??= reason;
    await Promise.all(this.#lanes);
  }

  outcomes(): MergeOutcome[] {
    return this.#plan.merges.map((merge) => this.#outcomes.get(merge) ?? this.#outcomeOf(merge, 'pending'));
  }

  #putTogether(merge: PlannedMerge<BatchMerge>): void {
    if (this.#options.range !== undefined) return;
    const lane = this.#next++ % this.#lanes.length;
    this.#lanes[lane] = itemAt(this.#lanes, lane).then(async () => {
      if (this.#stopped !== undefined || this.#options.signal?.aborted) return;
      const out = join(this.#options.out, merge.merge.name);
      try {
        const inputs = plannedInputsOf(merge, this.#plan);
        const isThere = await isAssembled(out, merge.shards, this.#store, inputs);
        const isCurrent = isThere && (await hasNotes(out, this.#options.cardNotes));
        const isKept = isCurrent || !(await this.#assemble(merge, inputs, out, isThere));
        if (isKept && this.#digests !== undefined && !(await exists(join(out, statementName))))
          await writeStatement(out, await readWrittenRecord(out), this.#run);
        this.done += 1;
        const outcome = this.#outcomeOf(merge, 'done');
        await this.#settle(merge, isKept ? { ...outcome, isKept } : outcome);
      } catch (error) {
        if (this.#run.signal.aborted) return;
        if (error instanceof LayerloomError && stopsAll.includes(error.code)) this.#stopped ??= error;
        await this.#fail(merge, error);
      }
    });
  }

  /**
   * @returns false if only the card of an existing merge is outdated, but the folder has files of the user
   */
  async #assemble(
    merge: PlannedMerge<BatchMerge>,
    inputs: readonly PlannedInput[],
    out: string,
    isThere: boolean,
  ): Promise<boolean> {
    const assembled = { inputs, shards: merge.shards, plan: () => planOf(merge, this.#plan, this.#options) };
    try {
      this.warnings.push(
        ...(await assemble(assembled, out, this.#store, this.#inputs, this.#link, this.#digests)),
      );
      return true;
    } catch (error) {
      if (!isThere || !(error instanceof LayerloomError) || error.code !== 'OUTPUT_NOT_OURS') throw error;
      const others = await foreignFiles(out);
      this.warnings.push(
        `the model card of ${merge.merge.name} was kept without the note on scored problems, because its folder contains files of yours: ${others.join(', ')}`,
      );
      return false;
    }
  }

  async #fail(merge: PlannedMerge<BatchMerge>, error: unknown): Promise<void> {
    const known = withCode(error);
    const code = known instanceof LayerloomError ? known.code : 'INTERNAL';
    const message = known instanceof Error ? known.message : String(known);
    await this.#settle(merge, { ...this.#outcomeOf(merge, 'failed'), error: { code, message } });
  }

  async #settle(merge: PlannedMerge<BatchMerge>, outcome: MergeOutcome): Promise<void> {
    this.#outcomes.set(merge, outcome);
    try {
      await this.#options.onMerge?.(outcome);
    } catch (error) {
      this.#stopped ??= error;
    }
  }

  /** Returns a merge's outcome. A shared shard counts as new for the first merge that has it. */
  #outcomeOf(merge: PlannedMerge<BatchMerge>, state: MergeState): MergeOutcome {
    let [fresh, bytesWritten] = [0, 0];
    for (const { key } of merge.shards) {
      const bytes = this.#made.get(key);
      const [first] = this.#needing.get(key) ?? [];
      if (bytes === undefined || first !== merge) continue;
      fresh += 1;
      bytesWritten += bytes;
    }
    return {
      name: merge.merge.name,
      state,
      shards: { shared: merge.shards.length - fresh, new: fresh },
      bytesRead: fresh === 0 ? 0 : (this.#reads.get(merge) ?? 0),
      bytesWritten,
      ...(state === 'done' ? { weights: weightsOfShards(merge.shards.map(({ key: shard }) => shard)) } : {}),
    };
  }
}
