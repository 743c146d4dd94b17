import type { ChildProcess } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { shellWord } from '../../../core/base/errors/command-line.js';
import { checkInterrupt, LayerloomError } from '../../../core/base/errors/errors.js';
import { optionName } from '../../../core/base/errors/option-name.js';
import { foreignDirectory } from '../../../core/base/files/own-directory.js';
import { writing } from '../../../core/base/files/writing.js';
import { openToAppend, sizeOf } from '../../../core/engine/output/durable.js';
import {
  endGroup,
  endingOf,
  lastLine,
  notStarted,
  spawnGroup,
  startShell,
} from '../../../core/programs/process.js';
import { seedArguments } from '../sampling.js';
import type { WeightsInPlace } from '../servers/weights-to-load.js';
import type { EvaluationSettings, Rows } from '../settings.js';
import { checkHarness } from './harness-command.js';
import { findHarnessResults, type HarnessResult, readHarnessResults } from './harness-output.js';
import {
  canServeMoreRuns,
  type HarnessEnd,
  type HarnessProcess,
  type LoadedWeights,
} from './harness-process.js';
import { type Requests, watchRequests } from './harness-progress.js';
import { weightsArguments } from './loaded-model.js';
import { promptArguments } from './prompt-arguments.js';

/** Run of one model on tasks with the same number of few-shot examples. */
export interface HarnessRun {
  readonly name: string;
  /** Absolute path of the checkpoint. */
  readonly path: string;
  /** Weights of an unwritten merge; the files at `path` are another model's. */
  readonly inPlace?: WeightsInPlace | undefined;
  readonly tasks: readonly string[];
  /** Few-shot examples; undefined for the tasks' defaults. */
  readonly fewshot: number | undefined;
  /** Index of the sampled answer, from 0. Tasks of a run have the same sampling settings. */
  readonly sample: number;
  readonly rows: ReadonlyMap<string, Rows | null>;
  readonly settings: EvaluationSettings;
  readonly includePaths: readonly string[];
  /** URL of a server, for back ends that use a server. */
  readonly server: string | undefined;
  /** Server's name for the checkpoint; default: its path. */
  readonly servedName?: string | undefined;
  /** Directory of results; made if needed, and kept. */
  readonly directory: string;
}

const [configName, outputName, cacheName] = ['config.json', 'output', 'answers'] as const;

const completionsAt = (url: string, backend: string): string => {
  if (/\/completions\/?$/.test(url)) return url;
  const server = url.replace(/\/(v1\/?)?$/, '');
  return `${server}/v1/${backend.includes('chat') ? 'chat/completions' : 'completions'}`;
};

const modelArguments = async ({
  path,
  settings,
  server,
  servedName = path,
  tasks,
  sample,
}: HarnessRun): Promise<Record<string, unknown>> => {
  const weights = await weightsArguments(path, server === undefined ? settings.backend : 'servers');
  const isDrawn = tasks.some((task) => settings.samplingOf(task) !== undefined);
  const seed = isDrawn ? seedArguments(settings.backend, settings.seedOf(sample)) : {};
  if (server === undefined) return { ...weights, ...settings.modelArgs, ...seed };
  return {
    model: servedName,
    base_url: completionsAt(server, settings.backend),
    tokenizer_backend: 'huggingface',
    tokenizer: path,
    ...(await promptArguments(path, settings.arguments.includes('--apply_chat_template'))),
    ...settings.modelArgs,
    ...seed,
  };
};

const harnessConfig = async (run: HarnessRun): Promise<Record<string, unknown>> => {
  const { tasks, fewshot, rows, settings, includePaths, directory } = run;
  const maxTokens = tasks.map((task) => settings.maxTokensOf(task)).find((most) => most !== null);
  const sampling = tasks.map((task) => settings.samplingOf(task)).find((one) => one !== undefined);
  const generation = {
    ...(maxTokens === undefined ? {} : { max_gen_toks: maxTokens }),
    ...(sampling === undefined ? {} : { do_sample: true, ...sampling }),
  };
  const wanted = tasks.flatMap((task) => {
    const range = rows.get(task);
    return range === undefined || range === null ? [] : [{ task, range }];
  });
  // Uses `limit` if all tasks score rows from 0 to the same end, because `limit` also works for groups.
  const [first] = wanted;
  const isLimit =
    wanted.length === tasks.length &&
    wanted.every(({ range: [from, to] }) => from === 0 && to === first?.range[1]);
  return {
    model: settings.backend,
    model_args: await modelArguments(run),
    tasks,
    ...(fewshot === undefined ? {} : { num_fewshot: fewshot }),
    ...(isLimit && first !== undefined ? { limit: first.range[1] } : {}),
    ...(isLimit || first === undefined
      ? {}
      : {
          samples: Object.fromEntries(
            wanted.map(({ task, range: [from, to] }) => [
              task,
              Array.from({ length: to - from }, (_, index) => from + index),
            ]),
          ),
        }),
    batch_size: settings.batchSize,
    ...(settings.confirmRunUnsafeCode ? { confirm_run_unsafe_code: true } : {}),
    ...(settings.device === undefined ? {} : { device: settings.device }),
    ...(Object.keys(generation).length === 0 ? {} : { gen_kwargs: generation }),
    // The command line accepts one folder, a configuration a list.
    ...(includePaths.length === 0
      ? {}
      : { include_path: includePaths.length === 1 ? includePaths[0] : includePaths }),
    seed: settings
      .seedOf(run.sample)
      .split(',')
      .map((part) => (part === 'None' ? null : Number(part))),
    log_samples: true,
    output_path: join(directory, outputName),
    // Keeps the answers of an interrupted run.
    use_cache: join(directory, cacheName),
  };
};

/** @returns the words after `lm_eval` */
export const prepareRun = async (run: HarnessRun): Promise<string[]> => {
  const config = join(run.directory, configName);
  const content = await harnessConfig(run);
  await writing(config, async () => {
    await mkdir(run.directory, { recursive: true });
    const foreign = foreignDirectory(run.directory);
    if (foreign !== undefined) throw new Error(foreign);
    await rm(join(run.directory, outputName), { recursive: true, force: true });
    // transformers refuses a temperature that is not a float, and Python reads `1` as an integer.
    const text = JSON.stringify(content, null, 2).replace(/^( *"temperature": \d+)(,?)$/m, '$1.0$2');
    await writeFile(config, `${text}\n`);
  });
  return ['run', '--config', config, ...run.settings.arguments];
};

/** Puts variables before a command, for the user to copy. */
export const withVariables = (command: string, environment: Readonly<Record<string, string>>): string =>
  [...Object.entries(environment).map(([name, value]) => `${name}=${shellWord(value)}`), command].join(' ');

export const commandLine = (
  command: string,
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
): string => withVariables([command, ...words.map(shellWord)].join(' '), environment);

interface Execution {
  /** Harness's command for the shell: `lm_eval`, or `python -m lm_eval`. */
  readonly command: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Process shared by successive models; undefined for one process per run. */
  readonly kept?: HarnessProcess | undefined;
  readonly log: string;
  readonly signal?: AbortSignal | undefined;
  /** Called with progress from the harness's log. */
  readonly onRequests?: ((requests: Requests) => void) | undefined;
  readonly onLoaded?: ((loaded: LoadedWeights) => void) | undefined;
}

/**
 * Runs the harness.
 *
 * @returns results of the tasks and their subtasks
 * @throws HARNESS_MISSING, HARNESS_FAILED, HARNESS_TIMEOUT, TASK_UNKNOWN, RESULTS_INVALID,
 *   WEIGHTS_DIFFER, INTERRUPTED
 */
export const runHarness = async (run: HarnessRun, execution: Execution): Promise<HarnessResult[]> => {
  checkHarness(execution.command);
  const words = await prepareRun(run);
  // After a difference, runs again: a new process loads the whole model.
  if ((await executed(run, words, execution)).length > 0) {
    const still = await executed(run, words, execution);
    if (still.length > 0)
      throw new LayerloomError('WEIGHTS_DIFFER', { model: run.name, tensors: still, log: execution.log });
  }
  const output = join(run.directory, outputName);
  const files = await findHarnessResults(output).catch((): string[] => []);
  const [file, ...others] = files;
  if (file === undefined || others.length > 0)
    throw new LayerloomError('HARNESS_FAILED', {
      model: run.name,
      reason: `it wrote ${files.length} results files where one was expected`,
      log: execution.log,
    });
  return readHarnessResults(file);
};

/**
 * @returns tensors of a shared process that differ from the model's files; if any differ, nothing was answered
 */
const executed = async (
  run: HarnessRun,
  words: readonly string[],
  execution: Execution,
): Promise<readonly string[]> => {
  const { kept, log, onLoaded = () => undefined } = execution;
  const own = ownProcess(words, execution);
  let differing: readonly string[] = [];
  const isServed = run.server !== undefined;
  const inKept = async (): Promise<HarnessEnd | undefined> => {
    if (kept === undefined || !canServeMoreRuns(run.settings)) return undefined;
    const weights = isServed ? undefined : (run.inPlace ?? run.path);
    const { fingerprint } = run.settings;
    const end = await kept.run({ words, log, weights, fingerprint, onLoaded });
    if (end === undefined || !('differing' in end)) return end;
    ({ differing } = end);
    return { code: 0, by: null };
  };
  await supervised(run, execution, {
    run: async (output) => {
      const end = await inKept();
      if (end === undefined && run.inPlace !== undefined && !isServed)
        throw new LayerloomError('IN_PLACE_REFUSED', {
          reason: `the process of ${execution.command} cannot be kept, and a new process would load the directory's files instead of the merge`,
        });
      return end ?? (await own.run(output));
    },
    stop: async () => {
      await Promise.all([kept?.end(), own.stop()]);
    },
  });
  return differing;
};

interface Runner {
  run(output: number): Promise<HarnessEnd>;
  /** Ends this run and all later ones. */
  stop(): Promise<void>;
}

const ownProcess = (words: readonly string[], { command, environment }: Execution): Runner => {
  let child: ChildProcess | undefined;
  let isStopped = false;
  return {
    run: (output) =>
      new Promise((resolve, reject) => {
        if (isStopped) {
          resolve({ code: null, by: 'SIGTERM' });
          return;
        }
        child = spawnGroup(`exec ${command} "$@"`, words, {
          output,
          env: { ...process.env, ...environment },
        });
        child.once('error', (error) => reject(notStarted(command, error)));
        child.once('exit', (code, by) => resolve({ code, by }));
      }),
    stop: async () => {
      isStopped = true;
      if (child !== undefined) await endGroup(child);
    },
  };
};

/** Runs the harness until it ends, times out or is interrupted. Derives errors from the log. */
const supervised = async (run: HarnessRun, execution: Execution, runner: Runner): Promise<void> => {
  const { command, log, signal, onRequests = () => undefined } = execution;
  checkInterrupt(signal);
  await mkdir(dirname(log), { recursive: true });
  const file = await openToAppend(log);
  const begin = await sizeOf(file, log);
  const { timeout } = run.settings;
  let isLate = false;
  const stop = () => runner.stop();
  const timer =
    timeout === undefined
      ? undefined
      : setTimeout(() => {
          isLate = true;
          void stop();
        }, timeout * 1000);
  const endWatch = watchRequests(log, begin, onRequests);
  signal?.addEventListener('abort', stop);
  // The signal may have been aborted while the log was opened.
  if (signal?.aborted) void stop();
  try {
    const { code, by } = await runner.run(file.fd);
    checkInterrupt(signal);
    if (isLate) throw new LayerloomError('HARNESS_TIMEOUT', { model: run.name, seconds: timeout ?? 0, log });
    if (code === 0) return;
    const printed = (await readFile(log)).subarray(begin).toString();
    throw failureOf(run, { command, code, by, printed, log });
  } finally {
    clearTimeout(timer);
    endWatch();
    signal?.removeEventListener('abort', stop);
    await file.close();
  }
};

interface Failure {
  readonly command: string;
  readonly code: number | null;
  readonly by: NodeJS.Signals | null;
  readonly printed: string;
  readonly log: string;
}

const failureOf = ({ name }: HarnessRun, { command, code, by, printed, log }: Failure): LayerloomError => {
  if (code === 127 || code === 126 || /No module named '?lm_eval/.test(printed))
    return new LayerloomError('HARNESS_MISSING', { command, reason: lastLine(printed) });
  if (isTooOld(printed)) return new LayerloomError('HARNESS_MISSING', { command, reason: tooOld });
  const unknown = /Tasks not found: (.+)/.exec(printed)?.[1];
  if (unknown !== undefined)
    return new LayerloomError('TASK_UNKNOWN', { tasks: unknown.split(', '), nearest: undefined });
  const missing = noDataSet(printed);
  if (missing !== undefined) return new LayerloomError('HARNESS_FAILED', { model: name, ...missing, log });
  return new LayerloomError('HARNESS_FAILED', { model: name, reason: endingOf({ code, by }, printed), log });
};

const tooOld = 'it is older than lm_eval 0.4.10, and has no `lm_eval run`';

/** True for the message of a harness that is too old for subcommands. */
const isTooOld = (printed: string): boolean => /unrecognized arguments: (run|ls)\b/.test(printed);

const noDataSet = (printed: string): { readonly dataSet: string; readonly reason: string } | undefined => {
  const [, name, cause] = /Couldn't reach '([^'\n]{1,200})' on the Hub \((\w{1,80})\)/.exec(printed) ?? [];
  if (name === undefined) return undefined;
  const remedy =
    cause === 'OfflineModeIsEnabled'
      ? 'HF_HUB_OFFLINE is set: unset it for one run'
      : `the hub cannot be reached (${cause}): download it where it can be reached`;
  const reason = `its data set ${name} is not on this machine; ${remedy}, or name local data (data: in evaluate: of an experiment, ${optionName('set', 'data=DIR')} for models)`;
  return { dataSet: name, reason };
};

/**
 * Lists the harness's tasks.
 *
 * @throws HARNESS_MISSING
 */
export const listTasks = (
  command: string,
  includePath: string | undefined,
  environment: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<ReadonlySet<string>> =>
  new Promise((resolve, reject) => {
    const words = ['ls', 'tasks', ...(includePath === undefined ? [] : ['--include_path', includePath])];
    const child = startShell(`exec ${command} "$@"`, words, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...environment },
    });
    const stop = () => void endGroup(child);
    signal?.addEventListener('abort', stop);
    let [printed, errors] = ['', ''];
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    child.once('error', (error) => reject(notStarted(command, error)));
    child.once('close', (code) => {
      signal?.removeEventListener('abort', stop);
      if (signal?.aborted) reject(new LayerloomError('INTERRUPTED', {}));
      else if (code !== 0)
        reject(
          new LayerloomError('HARNESS_MISSING', {
            command,
            reason: isTooOld(errors) ? tooOld : lastLine(errors) || `exit code ${code}`,
          }),
        );
      else resolve(new Set([...printed.matchAll(/^\|\s*([^\s|]+)\s*\|/gm)].map(([, task = '']) => task)));
    });
  });
