import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { version } from '../../../core/base/files/version.js';
import { makeDirectories } from '../../../core/engine/output/durable.js';
import { splitName } from '../../../core/models/address/name.js';
import {
  commandLine,
  type HarnessRun,
  prepareRun,
  runHarness,
  withVariables,
} from '../../evaluation/harness/harness.js';
import type { HarnessResult } from '../../evaluation/harness/harness-output.js';
import type { HarnessProcess, LoadedWeights } from '../../evaluation/harness/harness-process.js';
import type { Requests } from '../../evaluation/harness/harness-progress.js';
import type { FoundResult, ResultFiles } from '../../evaluation/result-files.js';
import { type ModelServer, serverCommand, startServer } from '../../evaluation/servers/server.js';
import { exchangeEnvironment } from '../../evaluation/servers/weight-servers.js';
import type { HeldModel, WeightSwapServer } from '../../evaluation/servers/weight-swap-server.js';
import type { MergeToLoad } from '../in-place/merges-in-place.js';
import type { ScoreError } from '../record/experiment-record.js';
import type { Scoring } from './prepare-scoring.js';
import type { ScoreFailures } from './progress/score-failures.js';
import { bringWholeModel } from './requests/bring-whole-model.js';
import { claimIn } from './requests/evaluation-folders.js';
import { loadPathOf, type ModelToScore, placeOf, weightsOf } from './requests/models-to-score.js';
import { logNameOf } from './requests/running-requests.js';
import { backendIn, lackingSamples, resultsOf } from './requests/wanted-results.js';
import { answersLeft, removeAll, runOf, runsOf } from './runs.js';

/** Outcome of scoring one model. */
export interface ScoringOutcome {
  readonly model: string;
  /** `kept`: all results existed; `impossible`: no task runs; `busy`: another process scores the weights. */
  readonly state: 'scored' | 'kept' | 'impossible' | 'busy';
  readonly results: readonly FoundResult[];
  readonly failed: readonly (ScoreError & { readonly task: string })[];
  readonly seconds: number;
}

const printedPort = 8000;

/**
 * Writes the configurations of a model's runs, for tasks without results.
 *
 * @param baseUrl of a running server, if any
 * @returns commands; empty for a missing merge. The first may start a server, which the user must end.
 */
export const commandsOf = async (
  model: ModelToScore,
  scoring: Scoring,
  there: readonly FoundResult[],
  baseUrl: string | undefined,
): Promise<string[]> => {
  const weights = await weightsOf(model, scoring.contents);
  if (weights === undefined) return [];
  const { serve, exchange } = scoring.settings;
  const path = await loadPathOf(model, scoring.directory);
  const samples = model.tasks
    .filter((task) => !scoring.without.has(task))
    .flatMap((task) => lackingSamples(there, weights, task, scoring.settings));
  if (samples.length === 0) return [];
  const server = serve === undefined ? baseUrl : `http://127.0.0.1:${printedPort}`;
  const runs = await Promise.all(
    runsOf(model, samples, scoring, { path, server, weights }).map((run) =>
      prepareRun({ ...run, directory: join(scoring.directory, 'runs', basename(run.directory)) }),
    ),
  );
  return [
    ...(serve === undefined
      ? []
      : [
          withVariables(
            serverCommand(serve, { model: path, name: model.name, port: printedPort }),
            exchange === undefined ? {} : exchangeEnvironment(exchange),
          ),
        ]),
    ...runs.map((words) => commandLine(scoring.command, words, scoring.environment)),
  ];
};

export interface ScoringContext {
  readonly scoring: Scoring;
  readonly results: ResultFiles;
  readonly failures: ScoreFailures;
  /** GPU for CUDA_VISIBLE_DEVICES. */
  readonly device: string | undefined;
  readonly baseUrl: string | undefined;
  readonly force: boolean;
  /** Keep the answers of an interrupted run. */
  readonly resume: boolean;
  readonly download: boolean;
  readonly signal: AbortSignal | undefined;
  readonly onRun: (tasks: readonly string[]) => void;
  readonly onRequests: (requests: Requests) => void;
  /** Process shared by all runs; undefined if each run has its own. */
  readonly kept: HarnessProcess | undefined;
  /** Server that exchanges weights; undefined for a plain server, or one per model. */
  readonly exchanging: WeightSwapServer | undefined;
  readonly onLoaded: (loaded: LoadedWeights) => void;
}

/**
 * Scores a model on its tasks without results.
 *
 * @throws LayerloomError for errors that every other model would have too: INTERRUPTED, WRITE_FAILED,
 * HARNESS_MISSING, IN_PLACE_REFUSED, READ_FAILED of results
 */
export const scoreModel = async (model: ModelToScore, context: ScoringContext): Promise<ScoringOutcome> => {
  const started = performance.now();
  const { scoring, results, failures, force } = context;
  const { settings, directory } = scoring;
  const done: FoundResult[] = [];
  const failed: (ScoreError & { task: string })[] = [];
  const outcome = (state: ScoringOutcome['state']): ScoringOutcome => ({
    model: model.name,
    state,
    failed,
    results: done,
    seconds: (performance.now() - started) / 1000,
  });

  const found = await attempt(async () => {
    if (model.kind === 'reference')
      await bringWholeModel(splitName(model.model).rest, context.download, context);
    return await weightsOf(model, scoring.contents);
  });
  if ('failure' in found) {
    for (const task of model.tasks) failed.push({ task, ...found.failure });
    return outcome('scored');
  }
  const weights = found.value;
  if (weights === undefined) return outcome('busy');
  const missing = async () => {
    const there = force ? [] : await results.of(weights);
    return model.tasks.flatMap((task) => lackingSamples(there, weights, task, settings));
  };
  const lacking = await missing();
  if (lacking.every(({ task }) => scoring.without.has(task))) {
    const tasks = new Set(lacking.map(({ task }) => task));
    if (tasks.size === model.tasks.length && tasks.size > 0) return outcome('impossible');
    const there = await results.of(weights);
    const made = model.tasks.flatMap((task) => resultsOf(there, weights, task, settings));
    await failures.removeVoid(made);
    const left = await answersLeft(model, weights, scoring, made);
    if (left.length > 0) {
      const claim = await claimIn(directory, weights);
      if (claim !== undefined) await removeAll(left).finally(() => claim.release());
    }
    return outcome('kept');
  }

  const claim = await claimIn(directory, weights);
  if (claim === undefined) return outcome('busy');
  const fail = async (task: string, error: ScoreError): Promise<void> => {
    failed.push({ task, ...error });
    await failures.write({ ...{ weights, model: model.name, task }, ...error, at: new Date().toISOString() });
  };
  try {
    // Another process may have written results meanwhile.
    const samples = (await missing()).filter(({ task }) => !scoring.without.has(task));
    if (samples.length === 0) return outcome('kept');
    const tasks = new Set(samples.map(({ task }) => task));

    const placed = await attempt(() => placeOf(model, directory));
    if ('failure' in placed) {
      for (const task of tasks) await fail(task, placed.failure);
      return outcome('scored');
    }
    await using checkpoint = placed.value;
    const started = await attempt(() => serverFor(model, checkpoint, context));
    if ('failure' in started) {
      for (const task of tasks) await fail(task, started.failure);
      return outcome('scored');
    }
    await using server = started.value;
    const place = {
      path: checkpoint.path,
      inPlace: checkpoint.weights,
      server: server.url,
      servedName: server.servedName,
      weights,
    };
    const queue = runsOf(model, samples, scoring, place);
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      // Does not sample further answers in a failed task.
      const own = next.tasks.filter(
        (task) => !scoring.without.has(task) && failed.every((failure) => failure.task !== task),
      );
      if (own.length === 0) continue;
      const group = { ...next, tasks: own };
      const run = own.length < next.tasks.length ? runOf(model.name, group, scoring, place) : next;
      const ran = await attempt(() =>
        runOnce(run, model, weights, { ...context, stillHolds: server.stillHolds }),
      );
      if ('value' in ran) {
        for (const result of ran.value) {
          done.push(result);
          await failures.remove({ weights, task: result.result.task });
        }
      } else if (own.length > 1 && ran.failure.code === 'HARNESS_FAILED')
        // If several tasks fail together, tries each separately.
        queue.unshift(...own.map((task) => runOf(model.name, { ...group, tasks: [task] }, scoring, place)));
      else if (ran.isForAll) for (const task of own) scoring.exclude(task, ran.failure);
      else for (const task of own) await fail(task, ran.failure);
    }
    if (done.length + failed.length === 0) return outcome('impossible');
    if (failed.length === 0) await removeAll(await answersLeft(model, weights, scoring, done));
    return outcome('scored');
  } finally {
    await claim.release();
  }
};

/** Errors that all other models would have too. */
const endsAll: readonly string[] = [
  'INTERRUPTED',
  'WRITE_FAILED',
  'HARNESS_MISSING',
  'IN_PLACE_REFUSED',
  'PROCESS_UNAVAILABLE',
];

const attempt = async <T>(
  work: () => Promise<T>,
): Promise<{ readonly value: T } | { readonly failure: ScoreError; readonly isForAll: boolean }> => {
  try {
    return { value: await work() };
  } catch (error) {
    if (!(error instanceof LayerloomError) || endsAll.includes(error.code)) throw error;
    // A missing data set makes every model fail.
    const isForAll = error.code === 'HARNESS_FAILED' && 'dataSet' in error.details;
    return { failure: { code: error.code, message: error.message }, isForAll };
  }
};

const logOf = (model: ModelToScore, { directory }: Scoring): string =>
  join(directory, 'logs', logNameOf(model.name));

export const environmentOf = ({
  scoring,
  device,
}: Pick<ScoringContext, 'scoring' | 'device'>): Record<string, string> => ({
  ...scoring.environment,
  ...(device === undefined ? {} : { CUDA_VISIBLE_DEVICES: device }),
});

const serverFor = async (
  model: ModelToScore,
  { path, weights: inPlace }: MergeToLoad,
  context: ScoringContext,
): Promise<Partial<Pick<ModelServer, 'url'> & HeldModel> & AsyncDisposable> => {
  const { settings } = context.scoring;
  const log = logOf(model, context.scoring);
  const left = { [Symbol.asyncDispose]: () => Promise.resolve() };
  if (settings.serve !== undefined) await makeDirectories(join(context.scoring.directory, 'logs'));
  if (context.exchanging !== undefined) {
    const { signal, onLoaded } = context;
    const held = { name: model.name, path, inPlace, log, signal, onLoaded };
    return { ...left, ...(await context.exchanging.hold(held)) };
  }
  if (settings.serve === undefined)
    return { ...left, ...(context.baseUrl === undefined ? {} : { url: context.baseUrl }) };
  return await startServer({
    command: settings.serve,
    model: path,
    name: model.name,
    log,
    timeoutSeconds: settings.serveTimeout,
    environment: {
      ...environmentOf(context),
      ...(settings.exchange === undefined ? {} : exchangeEnvironment(settings.exchange)),
    },
    signal: context.signal,
  });
};

const runOnce = async (
  run: HarnessRun,
  model: ModelToScore,
  weights: string,
  context: ScoringContext & { readonly stillHolds: HeldModel['stillHolds'] | undefined },
): Promise<FoundResult[]> => {
  const { scoring, signal, results } = context;
  const log = logOf(model, scoring);
  context.onRun(run.tasks);
  try {
    const all = await runHarness(run, {
      command: scoring.command,
      environment: environmentOf(context),
      log,
      signal,
      kept: context.kept,
      onRequests: context.onRequests,
      onLoaded: context.onLoaded,
    });
    if ((await weightsOf(model, scoring.contents)) !== weights)
      throw new LayerloomError('HARNESS_FAILED', {
        model: model.name,
        log,
        reason: 'its weights changed while it was scored',
      });
    await context.stillHolds?.();
    const ofTasks = run.tasks.map((task) => {
      const result = all.find((each) => each.task === task);
      if (result !== undefined && result.fewshot === (run.fewshot ?? result.fewshot)) return result;
      const reason =
        result === undefined
          ? `the harness gave no metrics of ${task}; if it is a tag, name its tasks instead`
          : `the harness used ${result.fewshot} worked examples for ${task}, as the task's file says, instead of ${run.fewshot}; write fewshot: {${task}: ${result.fewshot}}`;
      throw new LayerloomError('HARNESS_FAILED', { model: model.name, reason, log });
    });
    const written: FoundResult[] = [];
    for (const result of ofTasks) written.push(await writeResult(result, run, { weights, results }));
    await rm(run.directory, { recursive: true, force: true });
    return written;
  } catch (error) {
    const isInterrupted = error instanceof LayerloomError && error.code === 'INTERRUPTED';
    if (!(isInterrupted && context.resume)) await rm(run.directory, { recursive: true, force: true });
    throw error;
  }
};

const writeResult = (
  { file: _file, model: _model, texts, backend: _backend, ...result }: HarnessResult,
  { name, rows, settings, sample }: HarnessRun,
  { weights, results }: { readonly weights: string; readonly results: ResultFiles },
): Promise<FoundResult> =>
  results.write(
    {
      ...result,
      layerloom: version,
      model: name,
      weights,
      source: 'run' as const,
      rows: rows.get(result.task) ?? null,
      // The experiment's spelling of seeds and back ends, which the harness spells differently.
      seed: settings.seedOf(sample),
      sampling: settings.samplingTextOf(result.task),
      maxTokens: settings.maxTokensOf(result.task),
      backend: backendIn(settings),
    },
    texts,
  );
