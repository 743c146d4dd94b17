import { constants } from 'node:buffer';
import { reasonOf } from '../../../core/base/errors/errors.js';
import { ownValue } from '../../../core/base/errors/lookup.js';
import { isObject } from '../../../core/models/checkpoint/files/json.js';
import { readSmallFile } from '../../../core/models/checkpoint/files/small-file.js';
import { parseJson } from '../../../core/texts/json.js';
import type { ProblemResult, ProblemScore, ProblemTexts } from '../result.js';
import { invalidResult } from '../result-files.js';
import { sampleHashesSchema, sampleSchema } from './harness-schema.js';

type Json = Readonly<Record<string, unknown>>;

/** Maximum file size: a file is parsed as one string. */
const longest = { most: constants.MAX_STRING_LENGTH, what: 'a file of samples' };

/**
 * @returns undefined if the file is missing: the harness ran without `--log_samples`
 * @throws RESULTS_INVALID
 */
export const readSamples = async (
  file: string,
): Promise<{ problems: ProblemResult[]; texts: ProblemTexts } | undefined> => {
  const content = await readSmallFile(file, longest).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw invalidResult(file, reasonOf(error));
    return undefined;
  });
  if (content === undefined) return undefined;
  const byId = new Map<number, Gathered>();
  const texts = new Map<string, { question: string; target: string }>();
  for (const [index, line] of content.toString().split('\n').entries()) {
    if (line === '') continue;
    const sample = sampleOf(file, index + 1, line);
    const problem = byId.get(sample.id) ?? { ...sample, scores: new Map(), answers: new Map() };
    byId.set(sample.id, problem);
    for (const [metric, score] of sample.metrics) {
      const name = `${metric},${sample.filter}`;
      if (problem.scores.has(name))
        throw invalidResult(file, `line ${index + 1} has problem ${sample.id} a second time`);
      problem.scores.set(name, score);
    }
    if (sample.answer !== undefined) problem.answers.set(sample.filter, sample.answer);
    texts.set(sample.document, { question: sample.question, target: sample.expected });
  }
  const problems = [...byId.values()]
    .sort((a, b) => a.id - b.id)
    .map(({ id, document, prompt, target, scores, answers, response }) => ({
      id,
      document,
      prompt,
      target,
      response,
      scores: Object.fromEntries(scores),
      answers: Object.fromEntries(answers),
    }));
  return { problems, texts: Object.fromEntries(texts) };
};

interface Sample extends Omit<ProblemResult, 'scores' | 'answers'> {
  readonly filter: string;
  readonly metrics: readonly (readonly [metric: string, score: ProblemScore])[];
  readonly answer: string | undefined;
  readonly question: string;
  readonly expected: string;
}

interface Gathered extends Omit<Sample, 'filter' | 'metrics' | 'answer' | 'question' | 'expected'> {
  readonly scores: Map<string, ProblemScore>;
  readonly answers: Map<string, string>;
}

const sampleOf = (file: string, line: number, text: string): Sample => {
  let whole: unknown;
  try {
    whole = parseJson(text, { python: true });
  } catch (error) {
    throw invalidResult(file, `line ${line} ${reasonOf(error)}: malformed or half-written`);
  }
  const sample = sampleSchema.safeParse(whole).data;
  if (sample === undefined) throw invalidResult(file, `line ${line} is not a sample of lm_eval`);
  const hashes = sampleHashesSchema.safeParse(whole).data;
  if (hashes === undefined)
    throw invalidResult(file, `line ${line} lacks the hashes of document, prompt and target`);
  const response = generatedIn(sample);
  const answer = first(sample['filtered_resps']);
  try {
    return {
      ...{
        id: sample.doc_id,
        document: hashes.doc_hash,
        prompt: hashes.prompt_hash,
        target: hashes.target_hash,
      },
      filter: sample.filter ?? 'none',
      metrics: sample.metrics.flatMap((metric) => {
        const score = scoreOf(ownValue(sample, metric));
        return score === undefined ? [] : [[metric, score] as const];
      }),
      answer: response === undefined || typeof answer !== 'string' ? undefined : answer,
      response: response ?? '',
      question: questionIn(isObject(sample['doc']) ? sample['doc'] : {}),
      expected: textOf(sample['target'] ?? ''),
    };
  } catch (error) {
    // The value is too deep for JSON.stringify.
    throw invalidResult(file, `line ${line} is not a sample of lm_eval: ${reasonOf(error)}`);
  }
};

const textOf = (value: unknown): string => (isObject(value) ? JSON.stringify(value) : String(value));

const first = (value: unknown): unknown => (Array.isArray(value) ? value[0] : value);

/** Returns generated text; undefined for log-likelihoods, whose second argument has no settings. */
const generatedIn = (sample: Json): string | undefined => {
  const request = isObject(sample['arguments']) ? sample['arguments']['gen_args_0'] : undefined;
  if (!isObject(request) || !isObject(request['arg_1'])) return undefined;
  const response = first(first(sample['resps']));
  return typeof response === 'string' ? response : undefined;
};

const scoreOf = (value: unknown): ProblemScore | undefined => {
  if (typeof value === 'boolean') return Number(value);
  if (typeof value === 'number') return value;
  if (!Array.isArray(value) || value.length !== 2) return undefined;
  const [sum, weight] = value.map(Number);
  return sum !== undefined && weight !== undefined && Number.isFinite(sum) && Number.isFinite(weight)
    ? [sum, weight]
    : undefined;
};

const questionIn = (doc: Json): string => {
  for (const key of ['question', 'query', 'text', 'sentence', 'prompt']) {
    const value = doc[key];
    if (typeof value === 'string') return value;
  }
  return JSON.stringify(doc);
};
