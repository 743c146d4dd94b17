import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { LayerloomError, reasonOf } from '../../core/base/errors/errors.js';
import { ownValue } from '../../core/base/errors/lookup.js';
import { optionName } from '../../core/base/errors/option-name.js';
import { shipped } from '../../core/base/files/shipped.js';
import { LibraryThread, TookTooLong } from '../../core/texts/in-thread.js';
import type { EvaluationResult, ProblemResult } from '../evaluation/result.js';
import { ofSamples } from '../evaluation/sampled-result.js';
import { findColumn, whyUnpaired } from '../scores/reading/align.js';
import { aggregateOf, nameOfMetric, standardErrorOf } from '../scores/reading/metrics.js';
import type { ScoredExperiment } from '../scores/reading/scored-experiment.js';
import { sumOf } from '../scores/statistics/mean.js';
import { type Correction, type Dropped, plainQuestion, readCorrections } from './corrections.js';
import { type Answered, type Folding, foldingOf } from './equality.js';

/** Regular expressions of the harness's filters, for results that were scored without the filter. */
export const rules: Readonly<Record<string, string>> = {
  'flexible-extract': '(-?[$0-9.,]{2,})|(-?[0-9]+)',
};

/** Answer that lm_eval records if nothing matched. */
const invalid = '[invalid]';

type Corrections = readonly {
  readonly file: string;
  readonly task: string | undefined;
  readonly rows: readonly Correction[];
}[];

/** Reads corrected answers from FILE or TASK=FILE. */
export const correctionsOf = (targets: readonly string[]): Promise<Corrections> =>
  Promise.all(
    targets.map(async (text) => {
      const [, task, named] = /^([\w.-]+)=(.+)$/s.exec(text) ?? [];
      const file = named ?? text;
      return { file, task, rows: await readCorrections(file) };
    }),
  );

/** Extracts answers within a time limit, because a user's regular expression may never end. */
export class Taking {
  readonly #expression: string | undefined;
  readonly #match: 'first' | 'last';
  #thread: LibraryThread | undefined;

  constructor(expression: string | undefined, match: 'first' | 'last') {
    this.#expression = expression;
    this.#match = match;
  }

  async from(texts: readonly string[]): Promise<string[]> {
    this.#thread ??= new LibraryThread(pathToFileURL(shipped('dist/core/texts/expressions.cjs')));
    const characters = texts.reduce((sum, text) => sum + text.length, 0);
    try {
      const found = await this.#thread.call(
        'taken',
        [this.#expression, this.#match, texts],
        1 + 2e-6 * characters,
      );
      return (found as (string | undefined)[]).map((text) => text?.trim() ?? invalid);
    } catch (cause) {
      if (cause instanceof LayerloomError) throw cause;
      const expected =
        cause instanceof TookTooLong
          ? 'a faster regular expression: this one took too long'
          : `a JavaScript regular expression that is valid with the flag u (${reasonOf(cause)})`;
      throw new LayerloomError(
        'INVALID_PARAMETER',
        { parameter: 'rule', value: this.#expression, expected },
        { cause },
      );
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread?.end();
  }
}

interface Extraction {
  readonly filter: string | undefined;
  readonly rule: string | undefined;
  readonly taking: Taking;
}

const refused = (task: string, reason: string): LayerloomError =>
  new LayerloomError('RESCORE_REFUSED', { task, reason });

/** Changes every result, and notes which rows of files matched a problem. */
export class Changes {
  readonly #experiment: ScoredExperiment;
  readonly #corrections: Corrections;
  readonly #dropped: readonly Dropped[];
  readonly #met = new Set<Correction | Dropped>();
  readonly #foldings = new Map<string, ReturnType<typeof foldingOf>>();
  readonly #corrected = new Map<string, Set<string>>();
  /** Reasons why a task keeps problems that were to be dropped. */
  readonly #kept = new Map<string, string>();

  constructor(experiment: ScoredExperiment, corrections: Corrections, dropped: readonly Dropped[]) {
    this.#experiment = experiment;
    this.#corrections = corrections;
    this.#dropped = dropped;
  }

  async apply(result: EvaluationResult, metric: string, extraction: Extraction): Promise<EvaluationResult> {
    const { task, samples } = result;
    if (samples !== undefined) {
      const each: EvaluationResult[] = [];
      for (const sample of samples) each.push(await this.apply(sample, metric, extraction));
      const joined = ofSamples(each);
      if (joined === undefined)
        throw refused(task, `the repeated answers of ${result.model} are not to the same problems`);
      return joined;
    }
    if (result.problems.length === 0)
      throw refused(task, `${result.model} has no results for single problems`);
    const kept = result.problems.filter((problem) => !this.#isDropped(task, problem));
    if (kept.length === 0) throw refused(task, 'all its problems would be left out');
    const isExact = nameOfMetric(metric) === 'exact_match';
    const problems = isExact ? await this.#scored(result, kept, metric, extraction) : kept;
    const why = whyUnpaired([result], metric);
    if (why !== undefined && kept.length < result.problems.length) this.#kept.set(task, why);
    return withProblems(result, problems, metric);
  }

  #isDropped(task: string, { id, document }: ProblemResult): boolean {
    const found = this.#dropped.filter(
      (one) =>
        (one.task ?? task) === task &&
        (one.document === undefined ? one.id === id : one.document === document),
    );
    for (const one of found) this.#met.add(one);
    return found.length > 0;
  }

  async #scored(
    result: EvaluationResult,
    kept: readonly ProblemResult[],
    metric: string,
    { filter, rule, taking }: Extraction,
  ): Promise<readonly ProblemResult[]> {
    const { task } = result;
    const named = `exact_match,${filter}`;
    const isStored = filter !== undefined && kept.every(({ scores }) => scores[named] !== undefined);
    const own = filter !== undefined && isStored ? filter : metric.slice(metric.indexOf(',') + 1);
    const corrected = kept.map((problem) => this.#correctionOf(task, problem));
    const isTaken = rule !== undefined || (filter !== undefined && !isStored);
    if (filter !== undefined && !isStored && ownValue(rules, filter) === undefined)
      throw refused(
        task,
        `its results have no filter ${filter}; they have ${[...new Set(kept.flatMap(({ scores }) => Object.keys(scores)))].join(', ')}. Use ${optionName('rule')} to give an expression`,
      );
    const needsFolding = isTaken || corrected.some((answer) => answer !== undefined);
    if (!needsFolding)
      return kept.map((problem) => ({
        ...problem,
        scores: { ...problem.scores, [metric]: ownScore(problem, `exact_match,${own}`) },
      }));
    const fold = this.#foldingOf(result, metric);
    const taken = isTaken ? await taking.from(kept.map(({ response }) => response)) : undefined;
    return kept.map((problem, at) => {
      const old = this.#targetOf(problem);
      const target = corrected[at] ?? old;
      if (fold(target) !== fold(old)) this.#note(task, problem.document);
      const answer = taken?.[at] ?? problem.answers[own] ?? invalid;
      const isSame = taken === undefined && fold(target) === fold(old);
      const score = isSame ? ownScore(problem, `exact_match,${own}`) : Number(fold(answer) === fold(target));
      return { ...problem, scores: { ...problem.scores, [metric]: score } };
    });
  }

  #note(task: string, document: string): void {
    const documents = this.#corrected.get(task) ?? new Set();
    this.#corrected.set(task, documents.add(document));
  }

  #targetOf({ document }: ProblemResult): string {
    return ownValue(this.#experiment.texts, document)?.target ?? '';
  }

  /**
   * Returns the comparison by which the task's answers were scored. @throws RESCORE_REFUSED if no known
   * comparison gives the stored scores of all models
   */
  #foldingOf({ task }: EvaluationResult, metric: string): Folding {
    if (!this.#foldings.has(task)) {
      const results = new Set(this.#experiment.models.flatMap((model) => model.results.get(task) ?? []));
      const runs = [...results].flatMap((result) => result.samples ?? result);
      const answered = runs.flatMap(({ problems }) =>
        problems.map((problem): Answered => ({ problem, target: this.#targetOf(problem) })),
      );
      this.#foldings.set(task, foldingOf(task, answered, metric));
    }
    const found = this.#foldings.get(task);
    if (found !== undefined) return found;
    throw refused(
      task,
      'its stored scores do not follow from its stored answers by any known comparison of lm_eval, so changed answers cannot be scored',
    );
  }

  #correctionOf(task: string, problem: ProblemResult): string | undefined {
    let answer: string | undefined;
    for (const { task: only, rows } of this.#corrections) {
      if ((only ?? task) !== task) continue;
      const found = this.#indexOf(rows).find(this.#questionOf(problem), problem);
      if (found === undefined) continue;
      this.#met.add(found);
      answer = found.answer;
    }
    return answer;
  }

  #questionOf({ document }: ProblemResult): string {
    return plainQuestion(ownValue(this.#experiment.texts, document)?.question ?? '');
  }

  readonly #indexes = new Map<readonly Correction[], CorrectionIndex>();

  #indexOf(rows: readonly Correction[]): CorrectionIndex {
    const index = this.#indexes.get(rows) ?? new CorrectionIndex(rows);
    this.#indexes.set(rows, index);
    return index;
  }

  /** @throws RESCORE_REFUSED if a whole file matched nothing */
  check(): void {
    for (const { file, task, rows } of this.#corrections)
      if (!rows.some((row) => this.#met.has(row)))
        throw refused(task ?? 'the study', `no row of ${file} matches its problems`);
    if (this.#dropped.length > 0 && this.#met.size === 0)
      throw refused('the study', 'it has none of the problems to leave out');
  }

  get warnings(): string[] {
    const unmet = (rows: readonly (Correction | Dropped)[]) =>
      rows.filter((row) => !this.#met.has(row)).length;
    return [
      ...[...this.#kept].map(([task, why]) => `some results of ${task} keep all problems: ${why}`),
      ...this.#corrections.flatMap(({ file, rows }) => {
        const left = unmet(rows);
        return left === 0 ? [] : [`${left} of ${rows.length} rows of ${basename(file)} match no problem`];
      }),
      ...[...this.#corrected].map(
        ([task, documents]) => `${task}: ${documents.size} expected answers were replaced`,
      ),
      ...(unmet(this.#dropped) === 0
        ? []
        : [`${unmet(this.#dropped)} of ${this.#dropped.length} problems to leave out were not found`]),
    ];
  }
}

const ownScore = ({ scores }: ProblemResult, metric: string) => scores[metric] ?? 0;

/**
 * Finds the correction of a problem by hash, else question, else row number. A correction that has a question
 * is never found by its row number.
 */
class CorrectionIndex {
  readonly #documents = new Map<string, Correction>();
  readonly #questions = new Map<string, Correction>();
  readonly #rows = new Map<number, Correction>();

  constructor(rows: readonly Correction[]) {
    for (const row of rows) {
      if (row.document !== undefined) this.#documents.set(row.document, row);
      else if (row.question !== undefined) this.#questions.set(row.question, row);
      else if (row.id !== undefined) this.#rows.set(row.id, row);
    }
  }

  find(question: string, { document, id }: ProblemResult): Correction | undefined {
    return this.#documents.get(document) ?? this.#questions.get(question) ?? this.#rows.get(id);
  }
}

/**
 * Returns the result with other problems, and the score over these. If the score cannot be computed from the
 * problems, returns the result unchanged.
 */
export const withProblems = (
  result: EvaluationResult,
  problems: readonly ProblemResult[],
  metric: string,
): EvaluationResult => {
  if (whyUnpaired([result], metric) !== undefined) return result;
  const others = { ...result, problems, n: problems.length };
  const column = findColumn(others, metric);
  if (column === undefined) return result;
  const { [standardErrorOf(metric)]: _stated, ...metrics } = result.metrics;
  const score = aggregateOf(metric, column.arePlain).of(sumOf(column.sums), sumOf(column.weights));
  return { ...others, metrics: { ...metrics, [metric]: score } };
};
