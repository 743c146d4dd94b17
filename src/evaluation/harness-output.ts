import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, parsePythonJson } from '../checkpoint/json.js';
import { reasonOf } from '../errors.js';
import type { ProblemResult, ProblemScore, ProblemTexts } from './result.js';
import { invalidResult } from './result-files.js';
import type { Rows } from './settings.js';

/** One task of one `results_*.json` of the harness, with its samples. */
export interface HarnessResult {
  /** The results file. */
  readonly file: string;
  readonly task: string;
  readonly taskVersion: string;
  readonly promptHash: string;
  readonly fewshot: number;
  readonly seed: string;
  readonly metrics: Readonly<Record<string, number | null>>;
  readonly higherIsBetter: Readonly<Record<string, boolean>>;
  readonly n: number;
  readonly problems: readonly ProblemResult[];
  readonly texts: ProblemTexts;
  readonly harness: { readonly name: 'lm-eval'; readonly version: string };
  /** The harness's `model`, and its `model_args` without those that name the checkpoint or the machine. */
  readonly backend: string;
  /** The checkpoint as the harness was given it: a path, or what a server calls it. */
  readonly model: string;
  /** The rows that were taken, the first and the one after the last; null: all. */
  readonly rows: Rows | null;
  readonly started: string;
  readonly seconds: number;
}

const resultsName = /^results_(.+)\.json$/;

/** Lists the harness's results files in a directory and the directories in it. */
export const findHarnessResults = async (directory: string): Promise<string[]> => {
  const names = await readdir(directory, { recursive: true });
  return names
    .filter((name) => resultsName.test(name.slice(name.lastIndexOf('/') + 1)))
    .sort()
    .map((name) => join(directory, name));
};

/** Arguments of the harness's `model_args` that say which checkpoint, or where it runs, but not how it answers. */
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

/** Spells a back end with the arguments that may change answers, in the order of their names. */
export const backendOf = (name: string, given: Readonly<Record<string, unknown>>): string => {
  const kept = Object.entries(given)
    .filter(([key]) => !placeArguments.includes(key))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${String(value)}`);
  return kept.length === 0 ? name : `${name} ${kept.join(',')}`;
};

type Json = Readonly<Record<string, unknown>>;

const objectIn = (file: string, from: Json, key: string): Json => {
  const value = from[key];
  if (!isObject(value)) throw invalidResult(file, `lacks ${key}; is it a whole results file of lm_eval?`);
  return value;
};

/**
 * Reads one results file of the harness and the samples beside it.
 *
 * @throws LayerloomError RESULTS_INVALID if it is half-written or of another shape
 */
export const readHarnessResults = async (file: string): Promise<HarnessResult[]> => {
  const whole = await readObject(file);
  const config = objectIn(file, whole, 'config');
  const results = objectIn(file, whole, 'results');
  const subtasks = isObject(whole['group_subtasks']) ? whole['group_subtasks'] : {};
  const directory = file.slice(0, file.lastIndexOf('/'));
  const time = resultsName.exec(file.slice(file.lastIndexOf('/') + 1))?.[1] ?? '';
  const shared = {
    file,
    seed: [config['random_seed'], config['numpy_seed'], config['torch_seed'], config['fewshot_seed']]
      .map((part) => (part === null || part === undefined ? 'None' : String(part)))
      .join(','),
    harness: { name: 'lm-eval' as const, version: String(whole['lm_eval_version'] ?? 'unknown') },
    backend: backendIn(config),
    model: modelIn(whole, config),
    started: timeIn(file, whole),
    seconds: Number(whole['total_evaluation_time_seconds'] ?? 0),
  };
  return await Promise.all(
    Object.entries(results).map(async ([task, figures]): Promise<HarnessResult> => {
      if (!isObject(figures)) throw invalidResult(file, `has no figures of ${task}`);
      const members = membersOf(task, subtasks);
      const found = await Promise.all(
        members.map((member) => readSamples(join(directory, `samples_${member}_${time}.jsonl`))),
      );
      const problems = found.flatMap((each) => each?.problems ?? []);
      const hash = createHash('sha256');
      for (const { prompt } of problems) hash.update(`${prompt}\n`);
      return {
        ...shared,
        task,
        taskVersion: String(of(whole, 'versions', task) ?? 'unknown'),
        promptHash: problems.length === 0 ? '' : hash.digest('hex'),
        fewshot: Number(of(whole, 'n-shot', task) ?? of(whole, 'n-shot', members[0] ?? task) ?? 0),
        metrics: figuresIn(figures),
        higherIsBetter: Object.fromEntries(
          Object.entries((of(whole, 'higher_is_better', task) as Json | undefined) ?? {}).map(
            ([metric, is]) => [metric, is !== false],
          ),
        ),
        n: problems.length > 0 ? problems.length : countIn(whole, members, 'effective'),
        rows: rowsIn(config, problems, countIn(whole, members, 'original')),
        problems,
        texts: Object.assign({}, ...found.map((each) => each?.texts ?? {})) as ProblemTexts,
      };
    }),
  );
};

/** The harness states seconds since 1970. */
const timeIn = (file: string, { date }: Json): string => {
  const time = new Date(Number(date ?? 0) * 1000);
  if (Number.isNaN(time.getTime())) throw invalidResult(file, `states no time: date is ${String(date)}`);
  return time.toISOString();
};

const of = (whole: Json, part: string, task: string): unknown => {
  const inner = whole[part];
  return isObject(inner) ? inner[task] : undefined;
};

/** The tasks that a group's samples are in; a task itself if it is none. */
const membersOf = (task: string, subtasks: Json): string[] => {
  const inner = subtasks[task];
  if (!Array.isArray(inner) || inner.length === 0) return [task];
  return inner.flatMap((each: unknown) => membersOf(String(each), subtasks));
};

const countIn = (whole: Json, members: readonly string[], which: 'original' | 'effective'): number =>
  members.reduce((total, task) => {
    const counts = of(whole, 'n-samples', task);
    return total + (isObject(counts) ? Number(counts[which] ?? 0) : 0);
  }, 0);

/** The harness states its limit, but not the rows of `--samples`: those follow from the problems. */
const rowsIn = (config: Json, problems: readonly ProblemResult[], all: number): Rows | null => {
  const { limit } = config;
  // A limit below 1 is a share of the rows.
  if (typeof limit === 'number') return [0, limit < 1 ? Math.ceil(limit * all) : limit];
  const [first, last] = [problems[0], problems.at(-1)];
  return first === undefined || last === undefined || problems.length >= all ? null : [first.id, last.id + 1];
};

/** The figures, without names and counts; the harness writes `N/A` where it has no standard error. */
const figuresIn = (figures: Json): Record<string, number | null> =>
  Object.fromEntries(
    Object.entries(figures)
      .filter(([key]) => key.includes(','))
      .map(([key, value]) => [key, typeof value === 'number' && Number.isFinite(value) ? value : null]),
  );

const argumentsIn = (config: Json): Json => {
  const given = config['model_args'];
  if (isObject(given)) return given;
  return Object.fromEntries(
    String(given ?? '')
      .split(',')
      .filter((part) => part.includes('='))
      .map((part) => [part.slice(0, part.indexOf('=')), part.slice(part.indexOf('=') + 1)]),
  );
};

const backendIn = (config: Json): string =>
  backendOf(String(config['model'] ?? 'unknown'), argumentsIn(config));

const modelIn = (whole: Json, config: Json): string => {
  const given = argumentsIn(config);
  return String(given['pretrained'] ?? given['model'] ?? whole['model_name'] ?? '');
};

const readObject = async (file: string): Promise<Json> => {
  let value: unknown;
  try {
    value = parsePythonJson(await readFile(file, 'utf8'));
  } catch (error) {
    throw invalidResult(file, `is malformed or half-written: ${reasonOf(error)}`);
  }
  if (!isObject(value)) throw invalidResult(file, 'is not a results file of lm_eval');
  return value;
};

/** @returns undefined without the file: the harness ran without `--log_samples` */
const readSamples = async (
  file: string,
): Promise<{ problems: ProblemResult[]; texts: ProblemTexts } | undefined> => {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw invalidResult(file, reasonOf(error));
    return undefined;
  });
  if (text === undefined) return undefined;
  const byId = new Map<number, Gathered>();
  const texts: Record<string, { question: string; target: string }> = {};
  for (const [index, line] of text.split('\n').entries()) {
    if (line === '') continue;
    const sample = sampleOf(file, index + 1, line);
    const problem = byId.get(sample.id) ?? { ...sample, scores: {}, answers: {} };
    byId.set(sample.id, problem);
    for (const [metric, score] of sample.metrics) {
      const name = `${metric},${sample.filter}`;
      if (Object.hasOwn(problem.scores, name))
        throw invalidResult(file, `line ${index + 1} has problem ${sample.id} a second time`);
      problem.scores[name] = score;
    }
    if (sample.answer !== undefined) problem.answers[sample.filter] = sample.answer;
    texts[sample.document] = { question: sample.question, target: sample.expected };
  }
  const problems = [...byId.values()]
    .sort((a, b) => a.id - b.id)
    .map(({ id, document, prompt, target, scores, answers, response }) => ({
      ...{ id, document, prompt, target, scores, answers, response },
    }));
  return { problems, texts };
};

interface Sample {
  readonly id: number;
  readonly document: string;
  readonly prompt: string;
  readonly target: string;
  readonly filter: string;
  readonly metrics: readonly (readonly [metric: string, score: ProblemScore])[];
  readonly answer: string | undefined;
  readonly response: string;
  readonly question: string;
  readonly expected: string;
}

interface Gathered extends Omit<Sample, 'filter' | 'metrics' | 'answer' | 'question' | 'expected'> {
  readonly scores: Record<string, ProblemScore>;
  readonly answers: Record<string, string>;
}

const sampleOf = (file: string, line: number, text: string): Sample => {
  let sample: unknown;
  try {
    sample = parsePythonJson(text);
  } catch (error) {
    throw invalidResult(file, `line ${line} is malformed or half-written: ${reasonOf(error)}`);
  }
  if (!isObject(sample) || typeof sample['doc_id'] !== 'number' || !Array.isArray(sample['metrics']))
    throw invalidResult(file, `line ${line} is not a sample of lm_eval`);
  const hashes = ['doc_hash', 'prompt_hash', 'target_hash'].map((key) => sample[key]);
  if (!hashes.every((hash) => typeof hash === 'string'))
    throw invalidResult(file, `line ${line} lacks the hashes of document, prompt and target`);
  const [document = '', prompt = '', target = ''] = hashes as string[];
  const response = generatedIn(sample);
  const answer = first(sample['filtered_resps']);
  const document_ = isObject(sample['doc']) ? sample['doc'] : {};
  return {
    ...{ id: sample['doc_id'], document, prompt, target },
    filter: String(sample['filter'] ?? 'none'),
    metrics: sample['metrics'].flatMap((metric: unknown) => {
      const score = scoreOf(sample[String(metric)]);
      return score === undefined ? [] : [[String(metric), score] as const];
    }),
    answer: response === undefined || typeof answer !== 'string' ? undefined : answer,
    response: response ?? '',
    question: questionIn(document_),
    expected: String(sample['target'] ?? ''),
  };
};

const first = (value: unknown): unknown => (Array.isArray(value) ? value[0] : value);

/**
 * The text that a model generated; undefined where it was only asked for log-likelihoods, which the harness writes
 * as text too. Only requests to generate have settings of generation as their second argument.
 */
const generatedIn = (sample: Json): string | undefined => {
  const request = isObject(sample['arguments']) ? sample['arguments']['gen_args_0'] : undefined;
  if (!isObject(request) || !isObject(request['arg_1'])) return undefined;
  const response = first(first(sample['resps']));
  return typeof response === 'string' ? response : undefined;
};

/** A number, or the pair of a log-likelihood and its weight; log-likelihoods may be written as text. */
const scoreOf = (value: unknown): ProblemScore | undefined => {
  if (typeof value === 'boolean') return Number(value);
  if (typeof value === 'number') return value;
  if (!Array.isArray(value) || value.length !== 2) return undefined;
  const [sum, weight] = value.map(Number);
  return sum !== undefined && weight !== undefined && Number.isFinite(sum) && Number.isFinite(weight)
    ? [sum, weight]
    : undefined;
};

/** The text of a problem, under the names that tasks commonly give it. */
const questionIn = (doc: Json): string => {
  for (const key of ['question', 'query', 'text', 'sentence', 'prompt']) {
    const value = doc[key];
    if (typeof value === 'string') return value;
  }
  return JSON.stringify(doc);
};
