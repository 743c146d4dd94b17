import { itemAt, ownValue } from '../../../core/base/errors/lookup.js';
import type { EvaluationResult, ProblemResult } from '../../evaluation/result.js';
import type { Board } from '../../scores/boards/board.js';
import { whyNoBest } from '../../scores/comparing/conclusion.js';
import { isHigherBetter, scaleOf } from '../../scores/reading/metrics.js';
import { scoreOf, scoresOf } from '../../scores/reading/model-score.js';
import type { ScoredExperiment, ScoredModel } from '../../scores/reading/scored-experiment.js';
import { encodeBits } from '../components/data/bits.js';
import type { DrawnAnswer, PageResult, PageTask } from '../components/data/data.js';
import type { StringPool } from './string-pool.js';

const longestResponse = 4000;

export interface TaskData {
  readonly page: PageTask;
  readonly at: ReadonlyMap<string, number>;
  readonly kept: readonly string[];
}

/**
 * Collects tasks with results, first tasks in the experiment's languages, and texts of their first `samples` problems.
 */
export const tasksOf = (board: Board, samples: number, pool: StringPool): TaskData[] => {
  const { models, tasks, texts } = board.experiment;
  const names = new Set([...tasks.values()].flat());
  for (const { results } of models) for (const name of results.keys()) names.add(name);
  return [...names].flatMap((name) => {
    const results = models.flatMap(({ results }) => results.get(name) ?? []);
    const [first] = results;
    if (first === undefined) return [];
    const metric = board.metric(name) ?? null;
    const problems = new Map<string, ProblemResult>();
    for (const result of results)
      for (const problem of result.problems)
        if (!problems.has(problem.document)) problems.set(problem.document, problem);
    const ordered = [...problems.values()].sort((a, b) => a.id - b.id);
    const withText = ordered.filter(({ document }) => Object.hasOwn(texts, document)).slice(0, samples);
    const higherIsBetter = metric === null || isHigherBetter(first, metric);
    const at = new Map(ordered.map(({ document }, index) => [document, index]));
    const page: PageTask = {
      name,
      languages: [...tasks].flatMap(([language, own]) => (own.includes(name) ? [language] : [])),
      metric,
      unit: metric !== null && scaleOf(metric).unit === 'percent' ? 'percent' : 'number',
      digits: metric === null ? 3 : scaleOf(metric).digits,
      higherIsBetter,
      undecided: metric === null ? null : (undecidedOf(board, name, metric) ?? null),
      version: first.taskVersion,
      fewshot: first.fewshot,
      n: ordered.length > 0 ? ordered.length : first.n,
      kept: withText.map(({ document, id }) => {
        const { question, target } = texts[document] as ScoredExperiment['texts'][string];
        return { at: at.get(document) as number, id, question: pool.add(question), target: pool.add(target) };
      }),
    };
    return [{ page, at, kept: withText.map(({ document }) => document) }];
  });
};

const undecidedOf = (board: Board, task: string, metric: string): string | undefined => {
  const subject = board.subjects.find((of) => of.task === task);
  if (subject !== undefined) return board.whyNoBest(subject);
  const scores = scoresOf(board.experiment.models, task, metric);
  return whyNoBest({
    metric,
    n: Math.min(...scores.map(({ n }) => n)),
    scores: scores.map(({ value }) => value),
  });
};

export const resultsOf = (
  model: ScoredModel,
  tasks: readonly TaskData[],
  withTexts: boolean,
  pool: StringPool,
): PageResult[] =>
  tasks.flatMap((task, index) => {
    const { name, metric } = task.page;
    const result = model.results.get(name);
    if (result === undefined) return [];
    const score = metric === null ? undefined : scoreOf(model, name, metric);
    return [
      {
        task: index,
        value: score?.value ?? null,
        stderr: score?.stderr ?? null,
        n: result.n,
        ...bitsOf(result, task),
        answers: withTexts ? answersOf(result, task, pool) : null,
        drawn: withTexts ? drawnOf(result, task, pool) : null,
      },
    ];
  });

const bitsOf = (
  { problems }: EvaluationResult,
  { page, at }: TaskData,
): Pick<PageResult, 'right' | 'seen'> => {
  const { metric, n } = page;
  const scores = problems.map(({ scores }) => (metric === null ? undefined : ownValue(scores, metric)));
  if (problems.length === 0 || !scores.every((score) => score === 0 || score === 1))
    return { right: null, seen: null };
  const [right, seen] = [Array<boolean>(n).fill(false), Array<boolean>(n).fill(false)];
  for (const [index, { document }] of problems.entries()) {
    const position = at.get(document) as number;
    seen[position] = true;
    right[position] = itemAt(scores, index) === 1;
  }
  return { right: encodeBits(right), seen: seen.every(Boolean) ? null : encodeBits(seen) };
};

const answersOf = (
  { problems }: EvaluationResult,
  { page, kept }: TaskData,
  pool: StringPool,
): PageResult['answers'] => {
  if (problems.every(({ response }) => response === '')) return null;
  const byDocument = new Map(problems.map((problem) => [problem.document, problem]));
  const filter = page.metric?.split(',')[1] ?? '';
  return kept.map((document) => {
    const problem = byDocument.get(document);
    if (problem === undefined) return null;
    return textsIn(problem, filter, longestResponse, pool);
  });
};

const textsIn = (
  { answers, response }: ProblemResult,
  filter: string,
  longest: number,
  pool: StringPool,
): readonly [answer: number, response: number] => {
  const shown =
    response.length > longest ? `${response.slice(0, longest)}… (${response.length} characters)` : response;
  return [pool.add(ownValue(answers, filter) ?? ''), pool.add(shown)];
};

/** Maximum length of a sampled answer in characters: thirty answers per problem would make pages large. */
const longestDrawn = 1000;

const drawnOf = (
  { samples = [] }: EvaluationResult,
  { page: { metric }, kept }: TaskData,
  pool: StringPool,
): PageResult['drawn'] => {
  if (samples.length < 2) return null;
  const filter = metric?.split(',')[1] ?? '';
  const all = samples.map(({ problems }) => new Map(problems.map((problem) => [problem.document, problem])));
  return kept.map((document) => {
    const own = all.flatMap((byDocument) => byDocument.get(document) ?? []);
    return own.length === 0
      ? null
      : own.map((problem): DrawnAnswer => {
          const score = metric === null ? undefined : ownValue(problem.scores, metric);
          return [
            ...textsIn(problem, filter, longestDrawn, pool),
            score === 0 || score === 1 ? score === 1 : null,
          ];
        });
  });
};
