import { resolve } from 'node:path';
import * as z from 'zod';
import { LayerloomError } from '../base/errors.js';
import { isObject } from '../checkpoint/json.js';
import { unknownKeyOf } from '../recipe/invalid.js';
import { nearest } from '../recipe/nearest.js';
import { misspelt } from './local-data.js';
import { isZeroShot } from './task-facts.js';

/** `evaluate:` of an experiment that is given as an object; files have the same keys in snake case. */
export interface Evaluation {
  readonly harness?: 'lm-eval';
  /** Tasks of the harness, by language. */
  readonly tasks: Readonly<Record<string, string | readonly string[]>>;
  readonly everyLanguage?: boolean;
  /** Worked examples before each problem, for all tasks or by task; default: the task's own. */
  readonly fewshot?: number | Readonly<Record<string, number>>;
  /** The first problems of every task. */
  readonly limit?: number;
  /** The first and the last row to take, for all tasks or by task: `200-249`. */
  readonly problems?: string | Readonly<Record<string, string>>;
  readonly seed?: number | string;
  readonly backend?: string;
  readonly modelArgs?: Readonly<Record<string, string | number | boolean>>;
  readonly baseUrl?: string;
  readonly serve?: string;
  readonly serveTimeout?: number;
  readonly batchSize?: number | string;
  readonly device?: string;
  readonly devices?: readonly (string | number)[];
  readonly arguments?: readonly (string | number | boolean)[];
  readonly data?: string;
  readonly timeout?: number;
  readonly jobs?: number;
}

/** `evaluate:` as an experiment's file has it. */
export interface EvaluationBlock {
  readonly tasks?: Readonly<Record<string, string | readonly string[]>>;
  readonly every_language?: boolean;
  readonly [key: string]: unknown;
}

/** What `evaluate:` of an experiment says, checked. */
export interface EvaluationSettings {
  /** Tasks of the harness by language, in the file's order. */
  readonly tasks: ReadonlyMap<string, readonly string[]>;
  /** Measure every model in every language, not only in its own. */
  readonly everyLanguage: boolean;
  /** The harness's back end: `hf`, `vllm`, `local-completions`, … */
  readonly backend: string;
  /** Further arguments of the back end: `{dtype: bfloat16}`. */
  readonly modelArguments: Readonly<Record<string, string | number | boolean>>;
  /** The URL of a running server, for back ends that speak to one. */
  readonly baseUrl: string | undefined;
  /** Command that starts a server for a checkpoint: `{model}`, `{name}` and `{port}` are replaced. */
  readonly serve: string | undefined;
  /** Seconds until a server must answer. */
  readonly serveTimeout: number;
  readonly batchSize: number | string;
  readonly device: string | undefined;
  /** GPUs to divide among the jobs, one a job. */
  readonly devices: readonly string[];
  /** Further arguments of the harness's command line. */
  readonly arguments: readonly string[];
  /** Directory of local data for tasks; undefined to take them from the hub. */
  readonly data: string | undefined;
  /** Seconds until a model's run is given up. */
  readonly timeout: number | undefined;
  /** Number of models that are scored at once. */
  readonly jobs: number;
  /** As `--seed` of the harness takes it, all four. */
  readonly seed: string;
  /** Returns the number of worked examples before a problem; undefined: the task's own. */
  fewshotOf(task: string): number | undefined;
  /** Returns the rows of a task to take, the first and the one after the last; null: all. */
  rowsOf(task: string): Rows | null;
}

export type Rows = readonly [from: number, to: number];

const count = z.int().min(0);
const rowsText = z.string().regex(/^\d+-\d+$/);
const scalar = z.union([z.string(), z.number(), z.boolean()]);

const byTask = <Value extends z.ZodType>(value: Value) => z.union([value, z.record(z.string(), value)]);

/** `evaluate:` as files have it, with keys in snake case. */
export const evaluationSchema = z.strictObject({
  harness: z.literal('lm-eval').optional(),
  tasks: z.record(z.string(), z.union([z.string().min(1), z.array(z.string().min(1)).min(1)])),
  every_language: z.boolean().default(false),
  fewshot: byTask(count).optional(),
  limit: z.int().min(1).optional(),
  problems: byTask(rowsText).optional(),
  seed: z.union([z.int(), z.string()]).default('0,1234,1234,1234'),
  backend: z.string().min(1).default('hf'),
  model_args: z.record(z.string(), scalar).default({}),
  base_url: z.url().optional(),
  serve: z.string().min(1).optional(),
  serve_timeout: z.number().positive().default(600),
  batch_size: z.union([z.int().min(1), z.string().regex(/^auto(:\d+)?$/)]).default(1),
  device: z.string().optional(),
  devices: z.array(z.union([z.string(), z.int()])).default([]),
  arguments: z.array(scalar).default([]),
  data: z.string().min(1).optional(),
  timeout: z.number().positive().optional(),
  jobs: z.int().min(1).default(1),
});

/** Words for the values of each key, for messages and JSON Schemas. */
export const evaluationWords: Readonly<Record<keyof typeof evaluationSchema.shape, string>> = {
  harness: 'lm-eval',
  tasks: "languages, each with the harness's task or a list of tasks",
  every_language: 'true or false',
  fewshot: 'a whole number, 0 or more, or one for each task',
  limit: 'a whole number, 1 or more',
  problems: 'the first and the last row, 200-249, or such a range for each task',
  seed: 'a number, or four separated by commas: 0,1234,1234,1234',
  backend: 'a model type of lm_eval: hf, vllm, local-completions',
  model_args: 'names and values: {dtype: bfloat16}',
  base_url: 'the URL of a server: http://localhost:8000/v1',
  serve: 'a command, with {model} and {port}',
  serve_timeout: 'a number of seconds',
  batch_size: 'a whole number, 1 or more, or auto',
  device: 'a device: cpu, cuda:0',
  devices: 'a list of GPUs: [0, 1]',
  arguments: 'a list of arguments of lm_eval run',
  data: 'a directory',
  timeout: 'a number of seconds',
  jobs: 'a whole number, 1 or more',
};

export const evaluationKeys = Object.keys(evaluationSchema.shape);

const fail = (
  path: readonly (string | number)[],
  {
    nearest: meant,
    ...fault
  }: { key: string; reason: string; expected?: string; nearest?: string | undefined },
) =>
  new LayerloomError(
    'RECIPE_INVALID',
    { file: 'evaluate', ...fault, ...(meant === undefined ? {} : { nearest: meant }) },
    { context: { recipePath: ['evaluate', ...path] } },
  );

/**
 * Checks what `evaluate:` says, with keys in snake case.
 *
 * @param directory folder in which a relative `data` begins
 * @throws LayerloomError RECIPE_INVALID, with the path of the value
 */
export const parseEvaluation = (given: unknown, directory: string): EvaluationSettings => {
  if (isObject(given) && given['harness'] !== undefined && given['harness'] !== 'lm-eval')
    throw fail(['harness'], {
      key: String(given['harness']),
      reason: 'layerloom runs no such harness',
      expected: evaluationWords.harness,
    });
  const { data, error } = evaluationSchema.safeParse(given, { reportInput: true });
  if (error !== undefined) throw faultOf(error);
  if (data.limit !== undefined && data.problems !== undefined)
    throw fail(['limit'], { key: 'limit', reason: 'stands beside problems', expected: 'one of the two' });
  if (data.serve !== undefined && data.base_url !== undefined)
    throw fail(['serve'], {
      key: 'serve',
      reason: 'stands beside base_url',
      expected: 'a server to start or one that runs',
    });
  if (data.serve !== undefined && !/\{(model|name)\}/.test(data.serve))
    throw fail(['serve'], {
      key: 'serve',
      reason: 'lacks {model}, so that every model would get the answers of the same',
      expected: evaluationWords.serve,
    });
  const { fewshot, problems, limit } = data;
  const tasks = new Map(
    Object.entries(data.tasks).map(([language, of]) => [language, typeof of === 'string' ? [of] : of]),
  );
  for (const [language, of] of tasks) for (const task of of) checkSpelling(language, task);
  checkTasks({ fewshot, problems }, new Set([...tasks.values()].flat()));
  const rows: Rows | null = limit === undefined ? null : [0, limit];
  const rowsByTask = typeof problems === 'object' ? problems : {};
  const rowsOf = new Map(
    Object.entries(rowsByTask).map(([task, text]) => [task, rowsIn(text, ['problems', task])]),
  );
  const rowsOfAll = typeof problems === 'string' ? rowsIn(problems, ['problems']) : rows;
  return {
    tasks,
    everyLanguage: data.every_language,
    backend: data.backend,
    modelArguments: data.model_args,
    baseUrl: data.base_url,
    serve: data.serve,
    serveTimeout: data.serve_timeout,
    batchSize: data.batch_size,
    device: data.device,
    devices: data.devices.map(String),
    arguments: data.arguments.map(String),
    data: data.data === undefined ? undefined : resolve(directory, data.data),
    timeout: data.timeout,
    jobs: data.jobs,
    seed: seedOf(data.seed),
    fewshotOf: (task) => {
      const asked = typeof fewshot === 'object' ? fewshot[task] : fewshot;
      return asked !== undefined && isZeroShot(task) ? 0 : asked;
    },
    rowsOf: (task) => rowsOf.get(task) ?? rowsOfAll,
  };
};

/** @throws LayerloomError RECIPE_INVALID for a task that is called as one of the package's own, and is none */
const checkSpelling = (language: string, task: string): void => {
  const names = misspelt(task);
  if (names !== undefined)
    throw fail(['tasks', language], {
      key: task,
      reason: 'no such task',
      nearest: nearest(task, names),
    });
};

/** @throws LayerloomError RECIPE_INVALID for a setting of a task that no language has: it would have no effect */
const checkTasks = (
  settings: Readonly<Record<'fewshot' | 'problems', unknown>>,
  tasks: ReadonlySet<string>,
): void => {
  for (const [key, of] of Object.entries(settings))
    for (const task of isObject(of) ? Object.keys(of) : [])
      if (!tasks.has(task))
        throw fail([key, task], {
          key: task,
          reason: 'not a task under tasks',
          expected: [...tasks].join(', '),
          nearest: nearest(task, tasks),
        });
};

const rowsIn = (text: string, path: readonly string[]): Rows => {
  const [first = 0, last = 0] = text.split('-').map(Number);
  if (last < first)
    throw fail(path, { key: text, reason: 'the last row is before the first', expected: '200-249' });
  return [first, last + 1];
};

/** Spells a seed as the harness's four: one number stands for all. */
const seedOf = (seed: number | string): string => {
  const parts = String(seed).split(',');
  const isSeed = parts.every((part) => /^(\d+|None)$/.test(part.trim()));
  if (!isSeed || ![1, 4].includes(parts.length))
    throw fail(['seed'], {
      key: 'seed',
      reason: 'not a seed of the harness',
      expected: evaluationWords.seed,
    });
  return (parts.length === 4 ? parts : Array.from({ length: 4 }, () => parts[0] ?? ''))
    .map((part) => part.trim())
    .join(',');
};

const faultOf = ({ issues }: z.ZodError): LayerloomError => {
  // A misspelt key is also a missing one: its own message says more.
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0];
  if (issue === undefined) throw new Error('a failed check has an issue');
  const path = issue.path.map((step) => (typeof step === 'number' ? step : String(step)));
  if (issue.code === 'unrecognized_keys')
    return unknownKeyOf('evaluate', issue.keys[0] ?? '', evaluationKeys);
  const [key] = path;
  if (key === undefined) return fail([], { key: 'evaluate', reason: issue.message });
  const isMissing = issue.code === 'invalid_type' && path.length === 1 && issue.input === undefined;
  return fail(path, {
    key: path.join('.'),
    reason: isMissing ? 'is missing' : 'not what it takes',
    expected: evaluationWords[key as keyof typeof evaluationWords],
  });
};
