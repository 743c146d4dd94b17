import { createHash, randomUUID } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { layerloomCommand } from '../../core/base/errors/command-line.js';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { groupBy } from '../../core/base/errors/lookup.js';
import { exists } from '../../core/base/files/exists.js';
import { isUnreadable, namesIn, unlessMissing } from '../../core/base/files/unless-missing.js';
import { readFailed, writing } from '../../core/base/files/writing.js';
import { makeDirectories, replaceFile, syncDirectory } from '../../core/engine/output/durable.js';
import { readJsonFile } from '../../core/models/checkpoint/files/json-file.js';
import { readAtHand, readSmallFile } from '../../core/models/checkpoint/files/small-file.js';
import { KnownProblems } from './known-problems.js';
import type { EvaluationResult, ProblemResult, ProblemTexts, ResultIdentity } from './result.js';
import type { BareResult } from './sampled-result.js';

export type ResultSummary = Omit<EvaluationResult, 'problems' | 'columns' | 'drawn' | 'samples'>;

/** Summary and the name of its file in `evaluations/`. */
export interface FoundResult {
  readonly file: string;
  readonly result: ResultSummary;
}

export const evaluationsName = 'evaluations';

const resultName = /^[\w.-]+-[0-9a-f]{16}\.json$/;

/** Mean time to read a file above which a disk counts as slow, over more than `fewFiles` files. */
const slowMilliseconds = 2;
const fewFiles = 50;

const partialName = /^\.[\w.-]+\.json\.[0-9a-f-]{36}$/;

const shortHash = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);

const nameOf = (result: ResultIdentity): string => {
  const { weights, task, taskVersion, promptHash, fewshot, seed, rows, backend, maxTokens, sampling } =
    result;
  const identity = [weights, task, taskVersion, promptHash, fewshot, seed, rows, backend];
  // Adds the key only if it is set, so that results of earlier versions keep their names.
  if (maxTokens !== null) identity.push(maxTokens);
  if (sampling !== null) identity.push(sampling);
  return `${task.replace(/[^\w.-]/g, '_')}-${shortHash(identity)}`;
};

/**
 * An experiment's result files: `TASK-HASH.json` has figures, `TASK-HASH.problems.json` each problem's
 * outcome, `TASK-HASH.texts.json` the texts, which results share. They are written by atomic rename, figures
 * last. They never change, so they may be cached.
 */
export class ResultFiles {
  readonly directory: string;
  readonly #read = new Map<string, { stamp: string; result: ResultSummary }>();
  readonly #known = new Map<string, FoundResult>();
  #byWeights = new Map<string, FoundResult[]>();
  #waited = { files: 0, milliseconds: 0 };
  readonly #problems = new Map<string, KnownProblems>();

  constructor(experiment: string) {
    this.directory = join(experiment, evaluationsName);
  }

  /**
   * Lists results, sorted by file. Reports and skips malformed files.
   *
   * @throws READ_FAILED
   */
  async list(warn: (warning: string) => void = () => undefined): Promise<FoundResult[]> {
    const names = await namesIn(this.directory);
    const found: FoundResult[] = [];
    for (const file of names.filter((name) => resultName.test(name)).sort()) {
      const result = await this.#summaryOf(file, warn);
      if (result !== undefined) found.push({ file, result });
    }
    return found;
  }

  /** Returns the results for some weights. Reads only names and new files, so many models cost little. */
  async of(weights: string): Promise<readonly FoundResult[]> {
    const names = await namesIn(this.directory);
    const there = new Set(names.filter((name) => resultName.test(name)));
    let hasChanged = false;
    for (const file of this.#known.keys())
      if (!there.has(file)) hasChanged = this.#known.delete(file) || hasChanged;
    for (const file of there) {
      if (this.#known.has(file)) continue;
      const result = await this.#summaryOf(file, () => undefined);
      if (result === undefined) continue;
      this.#known.set(file, { file, result });
      hasChanged = true;
    }
    if (hasChanged) this.#byWeights = groupBy(this.#known.values(), ({ result }) => result.weights);
    return this.#byWeights.get(weights) ?? [];
  }

  /** @throws RESULTS_INVALID, READ_FAILED */
  async read(file: string): Promise<FoundResult> {
    const path = join(this.directory, file);
    // Results of earlier versions lack these keys: they had the task's own limit and greedy answers only.
    const summary = await readAs(summarySchema, path, (of, limit) => this.#bytesOf(of, limit));
    return { file, result: { maxTokens: null, sampling: null, ...summary } };
  }

  async #summaryOf(file: string, warn: (warning: string) => void): Promise<ResultSummary | undefined> {
    const path = join(this.directory, file);
    // Another process may have replaced or removed the file.
    const status = await unlessMissing(path, stat(path));
    if (status === undefined) return undefined;
    const stamp = `${status.ino} ${status.size} ${status.mtimeMs}`;
    const known = this.#read.get(file);
    if (known?.stamp === stamp) return known.result;
    try {
      const { result } = await this.read(file);
      // If a result's problems are missing, the model is scored again.
      const problems = this.#problemsAt(file);
      if (!(await exists(problems))) throw invalidResult(problems, 'is not there');
      this.#read.set(file, { stamp, result });
      return result;
    } catch (error) {
      if (!(error instanceof LayerloomError && error.code === 'RESULTS_INVALID')) throw error;
      warn(error.message);
      return undefined;
    }
  }

  /**
   * @returns an empty list if the result has no samples
   * @throws RESULTS_INVALID, READ_FAILED
   */
  async problemsOf({ file }: FoundResult): Promise<readonly ProblemResult[]> {
    return await readAs(problemsSchema, this.#problemsAt(file));
  }

  /** @throws RESULTS_INVALID, READ_FAILED */
  async wholeOf(found: FoundResult): Promise<EvaluationResult> {
    return { ...found.result, problems: await this.problemsOf(found) };
  }

  /**
   * Reads a result without responses. Results on the same problems share `problems`.
   *
   * @throws RESULTS_INVALID, READ_FAILED
   */
  async bareOf(found: FoundResult): Promise<BareResult> {
    const { task, promptHash, n } = found.result;
    const key = JSON.stringify([task, promptHash, n]);
    const known = this.#problems.get(key);
    const bytes = known && (await this.#bytesOf(this.#problemsAt(found.file)).catch(() => undefined));
    const read = bytes && known?.read(bytes, (value) => outcomeSchema.safeParse(value).success);
    if (read !== undefined) return { ...found.result, problems: known?.problems ?? [], outcomes: read };
    const whole = await this.problemsOf(found);
    const problems = whole.map((problem) => ({ ...problem, response: '', scores: {}, answers: {} }));
    if (known === undefined) this.#problems.set(key, new KnownProblems(problems));
    const outcomes = whole.map(({ scores, answers }) => ({ scores, answers }));
    return { ...found.result, problems, outcomes };
  }

  /** Reads files one by one, synchronously, which is faster; on a slow disk, several at a time. */
  async #bytesOf(path: string, limit?: Parameters<typeof readSmallFile>[1]): Promise<Buffer> {
    const { files, milliseconds } = this.#waited;
    const isSlow = files > fewFiles && milliseconds > slowMilliseconds * files;
    const began = performance.now();
    const bytes = isSlow ? undefined : readAtHand(path);
    if (!isSlow) this.#waited = { files: files + 1, milliseconds: milliseconds + performance.now() - began };
    return bytes ?? (await readSmallFile(path, limit));
  }

  #problemsAt(file: string): string {
    return join(this.directory, file.replace(/\.json$/, '.problems.json'));
  }

  /** @throws RESULTS_INVALID, READ_FAILED */
  async textsOf({ texts }: Pick<ResultSummary, 'texts'>): Promise<ProblemTexts> {
    if (texts === null) return {};
    return await readAs(textsSchema, join(this.directory, texts));
  }

  /**
   * Replaces a result of the same identity; with `keepNewer`, only an older one.
   *
   * @returns the present result and its file
   * @throws WRITE_FAILED, READ_FAILED
   */
  async write(
    result: Omit<EvaluationResult, 'texts' | 'columns' | 'drawn' | 'samples'>,
    texts: ProblemTexts,
    { keepNewer = false }: { readonly keepNewer?: boolean } = {},
  ): Promise<FoundResult> {
    const name = nameOf(result);
    if (keepNewer) {
      const there = await this.#summaryOf(`${name}.json`, () => undefined);
      if (there !== undefined && Date.parse(there.started) > Date.parse(result.started))
        return { file: `${name}.json`, result: there };
    }
    const { problems, ...summary } = result;
    const textsFile =
      Object.keys(texts).length === 0
        ? null
        : `${result.task.replace(/[^\w.-]/g, '_')}-${shortHash(Object.entries(texts).sort())}.texts.json`;
    const stored: ResultSummary = { ...summary, texts: textsFile };
    await writing(this.directory, async () => {
      await makeDirectories(this.directory, true);
      if (textsFile !== null) await this.#put(textsFile, texts);
      await this.#put(`${name}.problems.json`, problems);
      // Problems become durable before the figures that refer to them.
      await syncDirectory(this.directory);
      await this.#put(`${name}.json`, stored, 2);
      await syncDirectory(this.directory);
    });
    return { file: `${name}.json`, result: stored };
  }

  async removePartials(before: () => Promise<number>): Promise<void> {
    const names = await namesIn(this.directory);
    for (const name of names.filter((name) => partialName.test(name))) {
      const path = join(this.directory, name);
      const { mtimeMs } = await stat(path);
      if (mtimeMs < (await before())) await rm(path, { force: true });
    }
  }

  async #put(name: string, value: unknown, indent?: number): Promise<void> {
    const partial = join(this.directory, `.${name}.${randomUUID()}`);
    await replaceFile(join(this.directory, name), `${JSON.stringify(value, null, indent)}\n`, partial);
  }
}

export const invalidResult = (file: string, reason: string): LayerloomError =>
  new LayerloomError('RESULTS_INVALID', { file, reason });

const readAs = <T>(schema: z.ZodType<T>, path: string, read = readSmallFile): Promise<T> =>
  readJsonFile(path, {
    schema,
    read,
    what: `a result of ${layerloomCommand('evaluate')}`,
    fail: ({ file, reason, cause }) =>
      isUnreadable(cause)
        ? readFailed(file, cause)
        : new LayerloomError('RESULTS_INVALID', { file, reason }, { cause }),
  });

const rows = z.tuple([z.int().min(0), z.int().min(0)]).readonly();
const fileName = z.string().regex(/^[\w.-]+$/);

type Later = 'maxTokens' | 'sampling';

/** Files in an experiment's directory are untrusted. */
const summarySchema: z.ZodType<Omit<ResultSummary, Later> & Partial<Pick<ResultSummary, Later>>> = z.object({
  weights: z.string(),
  task: z.string(),
  taskVersion: z.string(),
  promptHash: z.string(),
  fewshot: z.number(),
  seed: z.string(),
  rows: rows.nullable(),
  maxTokens: z.number().nullable().exactOptional(),
  sampling: z.string().nullable().exactOptional(),
  backend: z.string(),
  layerloom: z.string(),
  model: z.string(),
  harness: z.object({ name: z.literal('lm-eval'), version: z.string() }),
  metrics: z.record(z.string(), z.number().nullable()),
  higherIsBetter: z.record(z.string(), z.boolean()),
  n: z.number(),
  texts: fileName.nullable(),
  source: z.enum(['run', 'imported']),
  started: z.string(),
  seconds: z.number(),
});

const score = z.union([z.number(), z.tuple([z.number(), z.number()]).readonly()]);

const outcomeSchema = z.object({
  scores: z.record(z.string(), score),
  answers: z.record(z.string(), z.string()),
});

const problemsSchema: z.ZodType<readonly ProblemResult[]> = z.array(
  outcomeSchema.extend({
    id: z.number(),
    document: z.string(),
    prompt: z.string(),
    target: z.string(),
    response: z.string(),
  }),
);

const textsSchema: z.ZodType<ProblemTexts> = z.record(
  z.string(),
  z.object({ question: z.string(), target: z.string() }),
);
