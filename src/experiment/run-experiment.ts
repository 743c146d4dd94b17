import { lstat, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { makeDirectories, writeDurably } from '../engine/output/durable.js';
import { LayerloomError, reasonOf } from '../errors.js';
import { tryLock } from '../native/addon.js';
import { withPlace } from '../recipe/read-recipe.js';
import { version } from '../version.js';
import { clearStaging } from './assemble.js';
import { type BatchPlan, groupsOf, planBatch } from './batch-plan.js';
import { type BatchCost, costOf } from './cost.js';
import { type ExperimentMerge, expandExperiment } from './expand.js';
import type { ExperimentInput } from './experiment-input.js';
import type { MergeOutcome, MergeState } from './merge-tracker.js';
import { type Experiment, parseExperiment, readExperiment } from './read-experiment.js';
import { type ExperimentReference, experimentReferences } from './references.js';
import { type BatchOptions, type BatchResult, runBatch } from './run-batch.js';

/** A merge as `experiment.json` has it. */
export interface MergeRecord {
  readonly name: string;
  readonly language: string;
  readonly task: string | null;
  readonly languageExpert: string | null;
  readonly method: string;
  readonly configuration: Readonly<Record<string, unknown>>;
  /** Relative to the experiment's directory. */
  readonly path: string;
  readonly state: MergeState;
  readonly shards: { readonly shared: number; readonly new: number };
  /** Of inputs, for the shards made for it first: each byte is read once for all merges, and so belongs to none. */
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly seconds: number;
  readonly error?: { readonly code: string; readonly message: string };
}

/** `experiment.json`: what an experiment is made of and how far it has come. */
export interface ExperimentRecord {
  readonly layerloom: string;
  readonly state: 'running' | 'done' | 'incomplete';
  /** The experiment's file, as it was. */
  readonly experiment: string;
  readonly base: string | null;
  readonly store: string;
  readonly merges: readonly MergeRecord[];
  readonly references: readonly ExperimentReference[];
  readonly evaluate?: unknown;
  readonly cost: BatchCost;
  /** Of inputs and of shards, by the last run. */
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly seconds: number;
}

export interface ExperimentOptions extends BatchOptions {
  /** Continue in a directory that holds an experiment already; what it has and this one needs stays. */
  resume?: boolean | undefined;
  /** The same: merges of other content are replaced either way, if layerloom wrote them. */
  force?: boolean | undefined;
  /** Where relative paths of an experiment that is given as an object begin. */
  directory?: string | undefined;
}

export interface ExperimentResult extends BatchResult {
  readonly experiment: ExperimentRecord;
}

const recordName = 'experiment.json';

/**
 * Runs a whole experiment: pairs × configurations × languages, over one store of shards. `experiment.json` in `out` says, at most a second late, how far it
 * has come.
 *
 * @example await runExperiment('swahili.yaml', { out: './swahili' })
 * @example await runExperiment({ tasks: { math: './math-1' }, languages: { swahili: { swh: './swh-1' } }, merges: [{ name: 'default', method: 'layer_swap' }] }, { out: './swahili' })
 * @param input an experiment's file (YAML), or the same as an object, with keys in camel case
 * @throws LayerloomError RECIPE_INVALID and the codes of `runBatch`; OUTPUT_EXISTS without `resume` where there is an experiment already. Merges that failed are no
 *   error here: their records say so
 */
export const runExperiment = async (
  input: ExperimentInput | string,
  options: ExperimentOptions,
): Promise<ExperimentResult> => {
  const started = performance.now();
  const experiment = await openExperiment(input, options);
  const out = resolve(options.out);
  return await placed(experiment, async () => {
    const merges = expandExperiment(experiment);
    const batch = { ...options, ...commonOf(experiment, options), out };
    // A part of an array job makes shards alone; the directory is the last job's.
    if (options.range !== undefined) {
      const result = await runBatch(merges, batch);
      return { ...result, experiment: recordOf(experiment, merges, batch, result.cost, new Map(), started) };
    }
    return await locked(out, async () => {
      const former = await lstat(join(out, recordName)).catch(() => undefined);
      if (former !== undefined && !options.resume && !options.force)
        throw new LayerloomError('OUTPUT_EXISTS', { out, experiment: true });
      await clearStaging(
        out,
        merges.map(({ path }) => path),
      );
      return await runHere(experiment, merges, batch, started, former !== undefined);
    });
  });
};

/** Holds a directory, which is made; nothing of it stays where the work fails before it has written anything. */
const locked = async <T>(out: string, work: () => Promise<T>): Promise<T> => {
  const lockPath = join(out, '.layerloom-lock');
  const isNew = (await stat(out).catch(() => undefined)) === undefined;
  const file = await makeDirectories(out, true)
    .then(() => open(lockPath, 'a'))
    .catch((cause: unknown) => {
      throw new LayerloomError('WRITE_FAILED', { file: out, reason: reasonOf(cause) }, { cause });
    });
  try {
    if (tryLock(file.fd) === 'held elsewhere')
      throw new LayerloomError('OUTPUT_BUSY', { out, staging: lockPath });
    try {
      return await work();
    } catch (error) {
      const names = isNew ? await readdir(out).catch(() => []) : [];
      if (names.length === 1) await rm(out, { recursive: true, force: true });
      throw error;
    }
  } finally {
    await file.close();
  }
};

const runHere = async (
  experiment: Experiment,
  merges: readonly ExperimentMerge[],
  options: ExperimentOptions,
  started: number,
  isResumed: boolean,
): Promise<ExperimentResult> => {
  const outcomes = new Map<string, { outcome: MergeOutcome; seconds: number }>();
  let cost: BatchCost | undefined;
  let moved = { bytesRead: 0, bytesWritten: 0 };
  const writer = new RecordWriter(join(options.out, recordName));
  const record = (state: ExperimentRecord['state'], done?: BatchResult): ExperimentRecord => {
    const known = recordOf(experiment, merges, options, cost as BatchCost, outcomes, started);
    const { bytesRead, bytesWritten } = done ?? moved;
    return { ...known, state, bytesRead, bytesWritten };
  };
  const secondsSince = () => (performance.now() - started) / 1000;
  try {
    const result = await runBatch(merges, {
      ...options,
      onPlan: async (plan, planned) => {
        cost = planned;
        await options.onPlan?.(plan, planned);
        // A former record stands until it has been seen which merges are there.
        if (isResumed) writer.writeSoon(() => record('running'));
        else await writer.write(record('running'));
      },
      onProgress: (progress) => {
        if (progress.phase === 'merge')
          moved = { bytesRead: progress.bytesRead ?? 0, bytesWritten: progress.done };
        options.onProgress?.(progress);
      },
      onMerge: async (outcome) => {
        outcomes.set(outcome.name, { outcome, seconds: secondsSince() });
        await options.onMerge?.(outcome);
        writer.writeSoon(() => record('running'));
      },
    });
    for (const outcome of result.merges)
      outcomes.set(outcome.name, { outcome, seconds: outcomes.get(outcome.name)?.seconds ?? secondsSince() });
    const isDone = result.merges.every(({ state }) => state === 'done');
    const finished = record(isDone ? 'done' : 'incomplete', result);
    await writer.write(finished);
    return { ...result, experiment: finished };
  } catch (error) {
    if (cost !== undefined) await writer.write(record('incomplete')).catch(() => undefined);
    throw error;
  }
};

/**
 * What an experiment would cost, and of which shards each merge would be made. Reads headers and a few sampled blocks of each file, no whole weights, and
 * writes nothing; the cost is that over an empty store.
 *
 * @example const { cost } = await planExperiment('swahili.yaml', {})
 * @throws LayerloomError RECIPE_INVALID, and the codes of checkpoints that cannot be opened or merged
 */
export const planExperiment = async (
  input: ExperimentInput | string,
  options: Omit<ExperimentOptions, 'out'>,
): Promise<{
  readonly plan: BatchPlan<ExperimentMerge>;
  readonly cost: BatchCost;
  readonly experiment: Experiment;
}> => {
  const experiment = await openExperiment(input, options);
  return await placed(experiment, async () => {
    const merges = expandExperiment(experiment);
    const plan = await planBatch(merges, { ...options, ...commonOf(experiment, options), assume: true });
    return {
      plan,
      experiment,
      cost: costOf(
        plan,
        groupsOf(plan, () => true),
      ),
    };
  });
};

const openExperiment = (
  input: ExperimentInput | string,
  { directory }: { directory?: string | undefined },
): Promise<Experiment> =>
  typeof input === 'string' ? readExperiment(input) : parseExperiment(input, { directory });

const commonOf = (
  { layout, maxShardSize }: Experiment,
  options: Omit<ExperimentOptions, 'out'>,
): Pick<BatchOptions, 'layout' | 'maxShardSize'> => ({
  layout: options.layout ?? layout,
  maxShardSize: options.maxShardSize ?? maxShardSize,
});

/** Errors whose place in the experiment is known say it. */
const placed = async <T>(experiment: Experiment, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof LayerloomError)) throw error;
    const { merge, place } = error.context;
    // A merge's path leads into its own recipe; what has a line is placed already.
    throw merge !== undefined || place !== undefined ? error : withPlace(error, experiment);
  }
};

const recordOf = (
  experiment: Experiment,
  merges: readonly ExperimentMerge[],
  options: ExperimentOptions,
  cost: BatchCost,
  outcomes: ReadonlyMap<string, { readonly outcome: MergeOutcome; readonly seconds: number }>,
  started: number,
): ExperimentRecord => ({
  layerloom: version,
  state: 'running',
  experiment: experiment.text,
  base: experiment.base ?? null,
  store: resolve(options.store ?? join(options.out, '.store')),
  merges: merges.map(({ name, language, task, languageExpert, method, configuration, path }): MergeRecord => {
    const { outcome, seconds = 0 } = outcomes.get(name) ?? {};
    return {
      name,
      language,
      task,
      languageExpert,
      method,
      configuration,
      path,
      state: outcome?.state ?? 'pending',
      shards: outcome?.shards ?? { shared: 0, new: 0 },
      bytesRead: outcome?.bytesRead ?? 0,
      bytesWritten: outcome?.bytesWritten ?? 0,
      seconds,
      ...(outcome?.error === undefined ? {} : { error: outcome.error }),
    };
  }),
  references: experimentReferences(experiment),
  ...(experiment.evaluate === undefined ? {} : { evaluate: experiment.evaluate }),
  cost,
  bytesRead: 0,
  bytesWritten: 0,
  seconds: (performance.now() - started) / 1000,
});

/** Keeps a JSON file current: whole or not at all, and not more often than a reader could look. */
class RecordWriter {
  readonly #path: string;
  #last = performance.now();
  #queue: Promise<void> = Promise.resolve();
  #later: NodeJS.Timeout | undefined;
  #failure: unknown;

  constructor(path: string) {
    this.#path = path;
  }

  write(record: ExperimentRecord): Promise<void> {
    this.#last = performance.now();
    clearTimeout(this.#later);
    this.#later = undefined;
    const written = this.#queue.then(async () => {
      const partial = `${this.#path}.partial`;
      try {
        await writeDurably(partial, `${JSON.stringify(record, null, 2)}\n`);
        await rename(partial, this.#path);
      } catch (cause) {
        throw new LayerloomError('WRITE_FAILED', { file: this.#path, reason: reasonOf(cause) }, { cause });
      }
    });
    this.#queue = written.catch(() => undefined);
    return written;
  }

  /** Within a second. @throws what a former such writing ended with */
  writeSoon(record: () => ExperimentRecord): void {
    if (this.#failure !== undefined) throw this.#failure;
    this.#later ??= setTimeout(
      () => {
        this.write(record()).catch((error: unknown) => {
          this.#failure = error;
        });
      },
      Math.max(0, this.#last + 1000 - performance.now()),
    );
  }
}
