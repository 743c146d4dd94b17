import { join, resolve } from 'node:path';
import { argument, layerloomCommand } from '../../../core/base/errors/command-line.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { groupBy, ownValue, pick } from '../../../core/base/errors/lookup.js';
import { counted } from '../../../core/base/format.js';
import { splitName } from '../../../core/models/address/name.js';
import { declaredIn } from '../../evaluation/declared.js';
import type { EvaluationResult, ProblemTexts, Scores } from '../../evaluation/result.js';
import { type FoundResult, ResultFiles } from '../../evaluation/result-files.js';
import { ofBareSamples, ofSamples } from '../../evaluation/sampled-result.js';
import type { ExperimentReference } from '../../experiment/file/references.js';
import {
  type ExperimentRecord,
  type MergeRecord,
  readRecord,
} from '../../experiment/record/experiment-record.js';
import { describeProgress } from '../../experiment/scoring/progress/study-progress.js';
import { describeLeft } from '../../experiment/scoring/requests/left-results.js';
import { ownLanguages } from '../../experiment/scoring/requests/models-to-score.js';
import { describeTrained } from '../../experiment/scoring/requests/trained-problems.js';
import { trainingFactsOf } from '../../experiment/scoring/requests/training-facts.js';
import type { ScoredExperiment, ScoredModel } from './scored-experiment.js';
import { selectionCaveats } from './selected.js';

export interface Loading {
  /** False skips responses and answers, which is faster; default true. */
  readonly responses?: boolean;
}

/**
 * Reads an experiment with all results named in its `experiment.json`.
 *
 * @throws EXPERIMENT_MISSING, EXPERIMENT_INVALID. Unreadable results are warnings
 */
export const loadScores = async (directory: string, loading: Loading = {}): Promise<ScoredExperiment> => {
  const place = resolve(directory);
  const record = await readRecord(place);
  const results = new Results(place, loading);
  const models: ScoredModel[] = [];
  for (const reference of record.references)
    models.push({ ...referenceOf(reference), results: await results.of(reference.scores) });
  for (const merge of record.merges)
    models.push({ ...mergeOf(merge, place), results: await results.of(merge.scores) });
  const lost = (record.left ?? []).filter(({ reason }) => reason === 'weights');
  const trained = await trainingFactsOf(place, record, textsByTask(models, results.texts));
  const caveats = [...selectionCaveats(record), ...trained.problems.map(describeTrained)];
  return {
    directory: place,
    languages: ownLanguages(record),
    tasks: tasksOf(record),
    models,
    declared: declaredIn(record.evaluate),
    texts: results.texts,
    summaries: [],
    ...(trained.models.length === 0 ? {} : { trained: trained.models }),
    ...(caveats.length === 0 ? {} : { caveats }),
    warnings: [
      ...caveats,
      ...results.warnings,
      ...mixedWarnings(models, place),
      ...describeLeft({ ...record, left: lost }, directory),
      ...(await describeProgress(directory, record)),
    ],
  };
};

const textsByTask = (
  models: readonly ScoredModel[],
  texts: ProblemTexts,
): ReadonlyMap<string, ProblemTexts> => {
  const byTask = groupBy(
    models.flatMap(({ results }) => [...results]),
    ([task]) => task,
  );
  return new Map(
    [...byTask].map(([task, of]) => {
      const documents = new Set<string>();
      for (const [, { problems }] of of) for (const { document } of problems) documents.add(document);
      const known = [...documents]
        .map((document) => [document, ownValue(texts, document)] as const)
        .filter(([, text]) => text !== undefined);
      return [task, Object.fromEntries(known) as ProblemTexts];
    }),
  );
};

const mostNamed = 5;

/** Differences that keep results from being paired. Without samples, only these keys show them. */
const differences: readonly {
  readonly what: string;
  readonly keyOf: (result: EvaluationResult) => string | undefined;
  readonly wordsOf: (key: string, isFirst: boolean) => string;
}[] = [
  {
    what: 'versions',
    keyOf: ({ taskVersion }) => taskVersion,
    wordsOf: (version, isFirst) => `of version ${version}${isFirst ? ' of the task' : ''}`,
  },
  {
    what: 'prompts',
    keyOf: ({ problems, promptHash }) => (problems.length === 0 ? promptHash : undefined),
    wordsOf: (_, isFirst) =>
      isFirst ? 'under one chat template and system prompt, without samples' : 'under another',
  },
];

/** Warns of tasks with mixed results, because means include all results. */
const mixedWarnings = (models: readonly ScoredModel[], directory: string): string[] => {
  const all = models.flatMap(({ name, results }) =>
    [...results].map(([task, result]) => ({ name, task, result })),
  );
  return [...groupBy(all, ({ task }) => task)].flatMap(([task, ofTask]) =>
    differences.flatMap(({ what, keyOf, wordsOf }) => {
      const kinds = [...groupBy(ofTask, ({ result }) => keyOf(result))]
        .flatMap(([key, of]) => (key === undefined ? [] : [{ key, of }]))
        .toSorted((a, b) => b.of.length - a.of.length);
      const [most, ...others] = kinds;
      if (most === undefined || others.length === 0) return [];
      const names = others.flatMap(({ of }) => of.map(({ name }) => name));
      const few = names.length <= mostNamed ? names : [];
      const again = layerloomCommand(
        'evaluate',
        argument(directory),
        '--force',
        ...few.flatMap((name) => ['--only', argument(name)] as const),
      );
      return [
        `${task}: ${counted(most.of.length, 'model has', 'models have')} results ${wordsOf(most.key, true)}, but ${others.map(({ key, of }) => `${of.length} ${wordsOf(key, false)}`).join(', ')} (${names.slice(0, mostNamed).join(', ')}${names.length > mostNamed ? ', …' : ''}); means include all ${what}, but models with different ${what} are not compared. \`${again}\` scores ${few.length > 0 ? 'these' : 'all'} again`,
      ];
    }),
  );
};

const atOnce = 16;

/** Reads each result file once; merges with equal weights share it. */
class Results {
  readonly warnings: string[] = [];
  texts: ProblemTexts = {};
  readonly #files: ResultFiles;
  readonly #responses: boolean;
  readonly #read = new Map<string, EvaluationResult | undefined>();
  readonly #textFiles = new Set<string>();

  constructor(directory: string, { responses = true }: Loading) {
    this.#files = new ResultFiles(directory);
    this.#responses = responses;
  }

  async of(scores: Scores = {}): Promise<Map<string, EvaluationResult>> {
    const found = new Map<string, EvaluationResult>();
    for (const [task, { result: file, samples = [file] }] of Object.entries(scores)) {
      if (!this.#read.has(file)) this.#read.set(file, await this.#join(samples));
      const result = this.#read.get(file);
      if (result !== undefined) found.set(task, result);
    }
    return found;
  }

  async #join(files: readonly string[]): Promise<EvaluationResult | undefined> {
    const joined = this.#responses
      ? await this.#joinBy(files, (found) => this.#files.wholeOf(found), ofSamples)
      : await this.#joinBy(files, (found) => this.#files.bareOf(found), ofBareSamples);
    if (typeof joined !== 'string') return joined;
    this.warnings.push(joined);
    return undefined;
  }

  async #joinBy<Result>(
    files: readonly string[],
    read: (found: FoundResult) => Promise<Result>,
    join: (results: readonly Result[]) => EvaluationResult | undefined,
  ): Promise<EvaluationResult | string> {
    const results: Result[] = [];
    for (let from = 0; from < files.length; from += atOnce) {
      const batch = files.slice(from, from + atOnce).map((file) => this.#load(file, read));
      for (const result of await Promise.all(batch)) {
        if (typeof result === 'string') return result;
        results.push(result);
      }
    }
    return join(results) ?? `${files.join(', ')}: they are not of the same problems`;
  }

  async #load<Result>(file: string, read: (found: FoundResult) => Promise<Result>): Promise<Result | string> {
    try {
      const found = await this.#files.read(file.slice(file.lastIndexOf('/') + 1));
      const { texts } = found.result;
      if (texts !== null && !this.#textFiles.has(texts)) {
        this.#textFiles.add(texts);
        const own = await this.#files.textsOf(found.result);
        this.texts = { ...this.texts, ...own };
      }
      return await read(found);
    } catch (error) {
      if (!(error instanceof LayerloomError)) throw error;
      return error.message;
    }
  }
}

const referenceOf = ({
  name,
  role,
  languages,
  expertIn,
  model,
}: ExperimentReference): Omit<ScoredModel, 'results'> => ({
  name,
  role,
  language: null,
  languages: expertIn ?? languages,
  task: null,
  languageExpert: null,
  method: null,
  entry: null,
  variant: null,
  configuration: {},
  path: splitName(model).rest,
});

const mergeOf = (merge: MergeRecord, directory: string): Omit<ScoredModel, 'results'> => {
  const variant = variantOf(merge);
  return {
    ...pick(merge, 'name', 'language', 'task', 'languageExpert', 'method', 'configuration'),
    variant,
    role: 'merge',
    languages: [merge.language],
    entry: variant.split('/', 1)[0] ?? variant,
    path: join(directory, merge.path),
  };
};

/** Returns a merge's variant: `swahili/math-1+swh-1/grid/b3-u0` → `grid/b3-u0`. */
const variantOf = ({ name, language, task, languageExpert }: MergeRecord): string => {
  const rest = name.slice(language.length + 1);
  const models = [`${task}+${languageExpert}`, task, languageExpert].find(
    (prefix) => prefix !== null && rest.startsWith(`${prefix}/`),
  );
  return models === undefined || models === null ? rest : rest.slice(models.length + 1);
};

const tasksOf = ({ evaluate }: ExperimentRecord): Map<string, readonly string[]> =>
  new Map(
    Object.entries(evaluate?.tasks ?? {}).map(([language, tasks]) => [
      language,
      typeof tasks === 'string' ? [tasks] : tasks,
    ]),
  );
