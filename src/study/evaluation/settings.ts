import { resolve } from 'node:path';
import type { z } from 'zod';
import { ownValue } from '../../core/base/errors/lookup.js';
import { nearest } from '../../core/base/nearest.js';
import { faultIn, parseSettings, spelt } from '../../core/methods/recipe/block.js';
import { isObject } from '../../core/models/checkpoint/files/json.js';
import { misspelt } from './data/local/local-data.js';
import { generatesNothing, isZeroShot } from './data/task-facts.js';
import { evaluationSchema, type Sampling } from './evaluation-block.js';
import type { Rows } from './rows.js';
import { samplingText, seedArguments, seedOfSample } from './sampling.js';
import { faultInCommand } from './servers/weight-servers.js';

type Interpreted =
  | 'harness'
  | 'tasks'
  | 'fewshot'
  | 'limit'
  | 'problems'
  | 'maxTokens'
  | 'sampling'
  | 'repeats'
  | 'baseUrl'
  | 'jobs';

export interface EvaluationSettings
  extends Omit<
    z.output<typeof evaluationSchema>,
    Interpreted | 'seed' | 'devices' | 'arguments' | 'include'
  > {
  /** Tasks by language, in order of the file. */
  readonly tasks: ReadonlyMap<string, readonly string[]>;
  /** Returns the harness's `--seed`, with all four parts, for a problem's n-th answer. */
  seedOf(sample: number): string;
  readonly devices: readonly string[];
  /** URLs of running servers; empty if each model gets its own server or process. */
  readonly baseUrls: readonly string[];
  readonly jobs: number;
  readonly arguments: readonly string[];
  readonly include: readonly string[];
  /** Few-shot examples; undefined: the task's default. */
  fewshotOf(task: string): number | undefined;
  /** Token limit of an answer; null for the task's default, or if the task generates nothing. */
  maxTokensOf(task: string): number | null;
  samplingOf(task: string): Sampling | undefined;
  /** Sampling settings as text; null: greedy. */
  samplingTextOf(task: string): string | null;
  /** Number of answers per problem. */
  repeatsOf(task: string): number;
  /** Rows to score, end exclusive; null for all. */
  rowsOf(task: string): Rows | null;
  /** Rows that may be scored (`problems`); null: all. */
  rangeOf(task: string): Rows | null;
}

export type { Rows } from './rows.js';

const fail = (path: readonly (string | number)[], fault: Parameters<typeof faultIn>[2]) =>
  faultIn('evaluate', path, fault);

const wrong = (key: string, reason: string, expected: string) => fail([key], { key, reason, expected });

/**
 * Checks `evaluate:`, with keys in snake case.
 *
 * @throws RECIPE_INVALID, with the path of the value
 */
export const parseEvaluation = (given: unknown, directory: string): EvaluationSettings => {
  if (isObject(given) && given['harness'] !== undefined && given['harness'] !== 'lm-eval')
    throw fail(['harness'], {
      key: String(given['harness']),
      reason: 'layerloom cannot run this harness',
      expected: 'lm-eval',
    });
  const {
    harness: _harness,
    fewshot,
    limit,
    problems,
    maxTokens,
    sampling,
    repeats,
    seed,
    baseUrl,
    jobs,
    ...settings
  } = parseSettings(evaluationSchema, 'evaluate', given);
  if (limit !== undefined && problems !== undefined)
    throw wrong('limit', 'is set together with problems', 'one of the two');
  const { serve, data, include } = settings;
  const baseUrls = [baseUrl ?? []].flat();
  checkArguments(settings.arguments.map(String), { maxTokens, sampling, include });
  if (serve !== undefined && baseUrls.length > 0)
    throw wrong('serve', 'is set together with base_url', 'either a server to start or one that runs');
  if (serve !== undefined && !/\{(model|name)\}/.test(serve))
    throw wrong(
      'serve',
      'lacks {model}, so the same model would answer for all',
      'a command, with {model} and {port}',
    );
  checkExchange({ ...settings, baseUrls });
  const tasks = new Map(
    Object.entries(settings.tasks).map(([language, of]) => [language, typeof of === 'string' ? [of] : of]),
  );
  for (const [language, of] of tasks) for (const task of of) checkSpelling(language, task);
  for (const [name, { tasks: own }] of Object.entries(settings.benchmarks))
    checkTasks(
      { [`benchmarks.${name}`]: Object.fromEntries(own.map((task) => [task, 0])) },
      new Set([...tasks.values()].flat()),
    );
  const drawn: Readonly<Record<string, Sampling>> | undefined = isSampling(sampling) ? undefined : sampling;
  checkTasks(
    { fewshot, problems, repeats, ...(drawn === undefined ? {} : { sampling: drawn }) },
    new Set([...tasks.values()].flat()),
  );
  const samplingOf = (task: string): Sampling | undefined => {
    if (generatesNothing(task)) return undefined;
    return isSampling(sampling) ? sampling : drawn && ownValue(drawn, task);
  };
  const seeds = seedsIn(seed);
  checkRepeats({ repeats, sampling, backend: settings.backend, seeds }, samplingOf);
  const rows: Rows | null = limit === undefined ? null : [0, limit];
  const rowsByTask = typeof problems === 'object' ? problems : {};
  const rowsOf = new Map(
    Object.entries(rowsByTask).map(([task, text]) => [task, rowsIn(text, ['problems', task])]),
  );
  const range = typeof problems === 'string' ? rowsIn(problems, ['problems']) : null;
  return {
    ...settings,
    tasks,
    devices: settings.devices.map(String),
    baseUrls,
    jobs: jobs ?? Math.max(1, baseUrls.length),
    arguments: settings.arguments.map(String),
    data: data === undefined ? undefined : resolve(directory, data),
    include: [include ?? []].flat().map((one) => resolve(directory, one)),
    seedOf: (sample) => seedOfSample(seeds, sample),
    fewshotOf: (task) => {
      const asked = typeof fewshot === 'object' ? ownValue(fewshot, task) : fewshot;
      return asked !== undefined && isZeroShot(task) ? 0 : asked;
    },
    samplingOf,
    samplingTextOf: (task) => {
      const of = samplingOf(task);
      return of === undefined ? null : samplingText(of);
    },
    repeatsOf: (task) => {
      if (samplingOf(task) === undefined) return 1;
      return (typeof repeats === 'object' ? ownValue(repeats, task) : repeats) ?? 1;
    },
    maxTokensOf: (task) => (generatesNothing(task) ? null : (maxTokens ?? null)),
    rowsOf: (task) => rowsOf.get(task) ?? range ?? rows,
    rangeOf: (task) => rowsOf.get(task) ?? range,
  };
};

const isSampling = (given: unknown): given is Sampling =>
  isObject(given) && typeof given['temperature'] === 'number';

interface RepeatSettings {
  readonly repeats: number | Readonly<Record<string, number>>;
  readonly sampling: unknown;
  readonly backend: string;
  readonly seeds: string;
}

/** @throws RECIPE_INVALID for repeats that would all give the same answers */
const checkRepeats = (
  { repeats, sampling, backend, seeds }: RepeatSettings,
  samplingOf: (task: string) => Sampling | undefined,
): void => {
  if (sampling !== undefined && seedArguments(backend, seeds) === null)
    throw wrong(
      'sampling',
      `is set together with the back end ${backend}, whose seed layerloom cannot set`,
      'hf, vllm or local-completions',
    );
  if (sampling !== undefined && seeds.split(',')[2] === 'None')
    throw wrong(
      'seed',
      'has no seed for torch, so sampled answers could not be reproduced',
      '0,1234,1234,1234',
    );
  const several = typeof repeats === 'object' ? Object.entries(repeats) : [[undefined, repeats] as const];
  for (const [task, count] of several) {
    const isDrawn = task === undefined ? sampling !== undefined : samplingOf(task) !== undefined;
    if (count > 1 && !isDrawn)
      throw wrong(
        'repeats',
        'is set without sampling, so all answers would be the same',
        'sampling: {temperature: 0.6} beside it',
      );
  }
};

const serverAt = (url: string): string =>
  URL.canParse(url) ? new URL(url).host.replace(/^(localhost|\[::1\])(?=:|$)/, '127.0.0.1') : url;

/** @throws RECIPE_INVALID for servers that cannot exchange weights, or that other machines can reach */
const checkExchange = ({
  exchange,
  serve,
  baseUrls,
  backend,
}: Pick<EvaluationSettings, 'exchange' | 'serve' | 'baseUrls' | 'backend'>): void => {
  if (exchange === undefined) return;
  if (serve === undefined && baseUrls.length === 0)
    throw wrong('exchange', 'is set without a server', 'serve or base_url beside it');
  if (!backend.endsWith('completions'))
    throw wrong(
      'exchange',
      `is set together with the back end ${backend}, which uses no server`,
      'backend: local-completions',
    );
  // Two lanes on one server would replace each other's weights.
  if (new Set(baseUrls.map(serverAt)).size < baseUrls.length)
    throw wrong(
      'base_url',
      'names a server twice',
      'each server once, because it holds the weights of one model',
    );
  if (serve === undefined) return;
  const fault = faultInCommand(serve, exchange);
  if (fault !== undefined) throw fail(['serve'], { key: 'serve', ...fault });
};

/** Options of `lm_eval run` that would override a key of `evaluate:`. */
const replaced = { maxTokens: 'gen_kwargs', sampling: 'gen_kwargs', include: 'include_path' } as const;

/** @throws RECIPE_INVALID for arguments that would override a setting */
const checkArguments = (
  words: readonly string[],
  settings: Readonly<Record<keyof typeof replaced, unknown>>,
): void => {
  for (const [name, word] of Object.entries(replaced)) {
    const isThere = words.some((one) => one.replace(/^--/, '').split('=')[0] === word);
    if (!isThere || settings[name as keyof typeof replaced] === undefined) continue;
    const key = spelt(name);
    throw wrong(key, `is set together with the argument ${word}`, 'one of the two');
  }
};

/** @throws RECIPE_INVALID for a misspelt name of one of layerloom's tasks */
const checkSpelling = (language: string, task: string): void => {
  const names = misspelt(task);
  if (names !== undefined)
    throw fail(['tasks', language], {
      key: task,
      reason: 'no such task',
      nearest: nearest(task, names),
    });
};

/** @throws RECIPE_INVALID for settings of unlisted tasks, which would have no effect */
const checkTasks = (settings: Readonly<Record<string, unknown>>, tasks: ReadonlySet<string>): void => {
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

const seedsIn = (seed: number | string): string => {
  const parts = String(seed).split(',');
  const isSeed = parts.every((part) => /^(\d+|None)$/.test(part.trim()));
  if (!isSeed || ![1, 4].includes(parts.length))
    throw wrong(
      'seed',
      'not a seed of the harness',
      'a number, or four separated by commas: 0,1234,1234,1234',
    );
  return (parts.length === 4 ? parts : Array.from({ length: 4 }, () => parts[0] ?? ''))
    .map((part) => part.trim())
    .join(',');
};
