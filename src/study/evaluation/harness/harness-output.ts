import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '../../../core/base/errors/errors.js';
import { ownValue } from '../../../core/base/errors/lookup.js';
import { isObject } from '../../../core/models/checkpoint/files/json.js';
import { readSmallFile } from '../../../core/models/checkpoint/files/small-file.js';
import { parseJson } from '../../../core/texts/json.js';
import { generatesNothing } from '../data/task-facts.js';
import type { EvaluationResult, ProblemResult, ProblemTexts } from '../result.js';
import { invalidResult } from '../result-files.js';
import { samplingIn } from '../sampling.js';
import type { Rows } from '../settings.js';
import { readSamples } from './harness-samples.js';
import { type HarnessConfig, type HarnessResults, resultsSchema } from './harness-schema.js';
import { adapterKeys, type ToldWeights, toldWeights } from './told-weights.js';

/** A task's results in the harness's `results_*.json`, with samples. */
export interface HarnessResult
  extends Omit<
    EvaluationResult,
    'weights' | 'layerloom' | 'model' | 'columns' | 'texts' | 'source' | 'drawn' | 'samples'
  > {
  readonly file: string;
  readonly texts: ProblemTexts;
  readonly model: ToldWeights;
}

const resultsName = /^results_(.+)\.json$/;

export const findHarnessResults = async (directory: string): Promise<string[]> => {
  const names = await readdir(directory, { recursive: true });
  return names
    .filter((name) => resultsName.test(name.slice(name.lastIndexOf('/') + 1)))
    .sort()
    .map((name) => join(directory, name));
};

/** Keys of `model_args` that name checkpoint or machine and do not affect answers. */
const placeArguments = [
  'pretrained',
  'model',
  'tokenizer',
  'base_url',
  'num_concurrent',
  'max_retries',
  'timeout',
  'device',
  'batch_size',
  'max_batch_size',
  'gpu_memory_utilization',
  'tensor_parallel_size',
  'data_parallel_size',
];

/** Returns the back end and, sorted, the arguments that may change answers. */
export const backendOf = (name: string, given: Readonly<Record<string, unknown>>): string => {
  const kept = Object.entries(given)
    .filter(([key]) => !placeArguments.includes(key))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${typeof value === 'object' ? JSON.stringify(value) : String(value)}`);
  return kept.length === 0 ? name : `${name} ${kept.join(',')}`;
};

type Json = Readonly<Record<string, unknown>>;

/**
 * Reads a results file and the samples beside it.
 *
 * @throws RESULTS_INVALID if it is incomplete or malformed
 */
export const readHarnessResults = async (file: string): Promise<HarnessResult[]> => {
  const whole = await readResults(file);
  const { config, results } = whole;
  const directory = file.slice(0, file.lastIndexOf('/'));
  const time = resultsName.exec(file.slice(file.lastIndexOf('/') + 1))?.[1] ?? '';
  const shared = {
    file,
    seed: [config.random_seed, config.numpy_seed, config.torch_seed, config.fewshot_seed]
      .map((part) => (part === null || part === undefined ? 'None' : String(part)))
      .join(','),
    harness: { name: 'lm-eval' as const, version: String(whole.lm_eval_version ?? 'unknown') },
    backend: backendIn(config),
    model: modelIn(whole),
    started: timeIn(file, whole),
    seconds: numberOr(0, whole.total_evaluation_time_seconds),
  };
  return await Promise.all(
    Object.entries(results).map(async ([task, figures]): Promise<HarnessResult> => {
      const members = membersOf(file, task, whole.group_subtasks ?? {});
      const found = await Promise.all(
        members.map((member) => readSamples(join(directory, `samples_${member}_${time}.jsonl`))),
      );
      const problems = found.flatMap((each) => each?.problems ?? []);
      const hash = createHash('sha256');
      for (const { prompt } of problems) hash.update(`${prompt}\n`);
      const scored = numberOr(0, figures['sample_len']);
      if (found.some((each) => each !== undefined) && problems.length < scored)
        throw invalidResult(
          file,
          `scored ${scored} problems of ${task}, but its samples have ${problems.length}`,
        );
      return {
        ...shared,
        task,
        taskVersion: String(of(whole.versions, task) ?? 'unknown'),
        promptHash: problems.length === 0 ? wrapperIn(whole) : hash.digest('hex'),
        fewshot: numberOr(0, of(whole['n-shot'], task) ?? of(whole['n-shot'], members[0] ?? task)),
        metrics: figuresIn(figures),
        higherIsBetter: Object.fromEntries(
          Object.entries(of(whole.higher_is_better, task) ?? {}).map(([metric, is]) => [
            metric,
            is !== false,
          ]),
        ),
        n: problems.length > 0 ? problems.length : countIn(whole, members, 'effective'),
        maxTokens: generatesNothing(task) ? null : maxTokensIn(config),
        sampling: generatesNothing(task) ? null : samplingIn(generationIn(config)),
        rows: rowsIn(config, problems, countIn(whole, members, 'original')),
        problems,
        texts: Object.fromEntries(found.flatMap((each) => Object.entries(each?.texts ?? {}))),
      };
    }),
  );
};

const readResults = async (file: string): Promise<HarnessResults> => {
  const text = await readSmallFile(file).catch((error: unknown) => {
    throw invalidResult(file, reasonOf(error));
  });
  let value: unknown;
  try {
    value = parseJson(text, { python: true });
  } catch (error) {
    throw invalidResult(file, `${reasonOf(error)}: malformed or half-written`);
  }
  if (!isObject(value)) throw invalidResult(file, 'is not a results file of lm_eval');
  for (const key of ['config', 'results'])
    if (!isObject(value[key]))
      throw invalidResult(file, `lacks ${key}; is it a whole results file of lm_eval?`);
  const { data, error } = resultsSchema.safeParse(value);
  if (data !== undefined) return data;
  const [issue] = error.issues;
  throw invalidResult(file, `is not a results file of lm_eval: ${issue?.path.join('.')}: ${issue?.message}`);
};

const timeIn = (file: string, { date }: HarnessResults): string => {
  const time = new Date(Number(date ?? 0) * 1000);
  if (Number.isNaN(time.getTime())) throw invalidResult(file, `has no valid time: date is ${date}`);
  return time.toISOString();
};

/** Converts a number or its text. `N/A` and an absent value give `other`. */
const numberOr = (other: number, value: unknown): number => {
  const number = typeof value === 'string' ? Number.parseFloat(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : other;
};

const of = <Value>(
  byTask: Readonly<Record<string, Value>> | null | undefined,
  task: string,
): Value | undefined => (byTask ? ownValue(byTask, task) : undefined);

const mostNested = 100;

/**
 * Returns a group's tasks; a plain task returns itself.
 *
 * @throws RESULTS_INVALID for circular groups, or nesting deeper than `mostNested`
 */
const membersOf = (
  file: string,
  task: string,
  subtasks: Readonly<Record<string, readonly string[]>>,
): readonly string[] => {
  const members = new Set<string>();
  const [seen, open] = [new Set<string>(), new Set<string>()];
  const visit = (each: string): void => {
    if (open.has(each)) throw invalidResult(file, `has ${each} among the tasks of the group ${each}`);
    if (seen.has(each)) return;
    if (open.size === mostNested)
      throw invalidResult(file, `nests groups of tasks more than ${mostNested} deep`);
    seen.add(each);
    const inner = of(subtasks, each) ?? [];
    if (inner.length === 0) members.add(each);
    open.add(each);
    inner.forEach(visit);
    open.delete(each);
  };
  visit(task);
  return [...members];
};

const countIn = (
  whole: HarnessResults,
  members: readonly string[],
  which: 'original' | 'effective',
): number => members.reduce((total, task) => total + (of(whole['n-samples'], task)?.[which] ?? 0), 0);

/** Derives the scored rows from the problems, because results do not record `--samples`. */
const rowsIn = ({ limit }: HarnessConfig, problems: readonly ProblemResult[], all: number): Rows | null => {
  if (typeof limit === 'number') {
    const end = limit < 1 ? Math.ceil(limit * all) : limit;
    return all > 0 && end >= all ? null : [0, end];
  }
  const [first, last] = [problems[0], problems.at(-1)];
  return first === undefined || last === undefined || problems.length >= all ? null : [first.id, last.id + 1];
};

/** Hashes chat template and system prompt, in place of unknown prompts. */
const wrapperIn = (whole: HarnessResults): string => {
  const [template, system] = [whole.chat_template_sha ?? '', whole.system_instruction_sha ?? ''];
  if (template === '' && system === '') return '';
  const turns = template !== '' && whole.fewshot_as_multiturn === true;
  return createHash('sha256')
    .update(JSON.stringify([template, system, turns]))
    .digest('hex');
};

/** Reads metrics. The harness writes `N/A` for a missing standard error. */
const figuresIn = (figures: Json): Record<string, number | null> =>
  Object.fromEntries(
    Object.entries(figures)
      .filter(([key]) => key.includes(','))
      .map(([key, value]) => [key, typeof value === 'number' && Number.isFinite(value) ? value : null]),
  );

const pairsIn = (text: string): Json =>
  Object.fromEntries(
    text
      .split(',')
      .filter((part) => part.includes('='))
      .map((part) => [part.slice(0, part.indexOf('=')), part.slice(part.indexOf('=') + 1)]),
  );

const argumentsIn = ({ model_args: given }: HarnessConfig): Json => {
  return isObject(given) ? given : pairsIn(given ?? '');
};

const generationIn = ({ gen_kwargs: given }: HarnessConfig): Json =>
  isObject(given) ? given : pairsIn(given ?? '');

const maxTokensIn = (config: HarnessConfig): number | null => {
  const pairs = generationIn(config);
  for (const key of ['max_gen_toks', 'max_new_tokens', 'max_tokens', 'max_completion_tokens'])
    if (pairs[key] !== undefined && pairs[key] !== null) return Number(pairs[key]);
  return null;
};

const backendIn = (config: HarnessConfig): string => {
  const others = Object.entries(argumentsIn(config)).filter(([key]) => !adapterKeys.includes(key));
  return backendOf(config.model ?? 'unknown', Object.fromEntries(others));
};

const modelIn = ({ config, model_name }: HarnessResults): ToldWeights =>
  toldWeights({ model: model_name, ...argumentsIn(config) });
