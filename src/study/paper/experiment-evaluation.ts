import { layerloomCommand } from '../../core/base/errors/command-line.js';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { invalidParameter } from '../../core/base/errors/invalid-parameter.js';
import { optionName } from '../../core/base/errors/option-name.js';
import type { BenchmarkTasks } from '../evaluation/data/benchmark.js';
import { type BenchmarkName, benchmarks, tasksOf } from '../evaluation/data/benchmarks.js';
import {
  languages as allLanguages,
  type EvaluationLanguage,
  mgsmLanguages,
} from '../evaluation/data/local/languages.js';
import { isLocalOnly } from '../evaluation/data/local/local-data.js';
import { isZeroShot, taskOf } from '../evaluation/data/task-facts.js';

/** Choices for `evaluate:`. Omitted choices have the paper's values, or become comments. */
export interface EvaluationChoices {
  readonly benchmarks?: readonly BenchmarkName[] | undefined;
  /** Directory of local data, relative to the experiment's file; default: the hub. */
  readonly data?: string | undefined;
  /** Tasks in `data`. If the preset averages over all languages, languages with all tasks are measured. */
  readonly here?: readonly string[] | undefined;
  /** True if the preset averages over the paper's ten languages (Table 2). */
  readonly averagesAll?: boolean | undefined;
  /** Score only the first problems of each task. */
  readonly limit?: number | undefined;
  /** Rows of each task to score, such as `200-249`. Excludes `limit`. */
  readonly problems?: string | undefined;
  /** Token limit of an answer. */
  readonly maxTokens?: number | undefined;
  /** Few-shot examples; default: the paper's. */
  readonly fewshot?: number | undefined;
  readonly device?: string | undefined;
  readonly batchSize?: number | undefined;
}

/** @throws USAGE for a limit and a range; INVALID_PARAMETER for an invalid range */
export const checkProblems = ({ problems, limit }: EvaluationChoices): void => {
  if (problems === undefined) return;
  if (limit !== undefined)
    throw new LayerloomError('USAGE', {
      reason: `${optionName('limit')} and ${optionName('problems')} exclude each other; give one of them`,
    });
  const [, first, last] = /^(\d{1,9})-(\d{1,9})$/.exec(problems) ?? [];
  if (first === undefined || Number(last) < Number(first))
    throw invalidParameter('problems', problems, 'the first and the last row, such as 200-249');
};

/**
 * Returns the lines of a preset's `evaluate:`: the benchmarks in the experiment's languages and in English.
 * Empty if no benchmark has any of the languages.
 */
export const presetEvaluation = (
  languages: readonly string[],
  choices: EvaluationChoices,
  selectedBy: Readonly<Record<string, string>>,
  scalar: (text: string) => string,
): string[] => {
  const { data, problems, maxTokens, device, batchSize } = choices;
  // A range replaces the preset's limit.
  const limit = problems === undefined ? choices.limit : undefined;
  const chosen = chosenOf(choices);
  const ownTasks = (language: EvaluationLanguage) => tasksIn(language, choices);
  const measured = allLanguages
    .filter((language) => ownTasks(language).length > 0)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const own = languages.flatMap((name) => measured.filter((language) => language.name === name));
  if (own.length === 0) return [];
  const others = measured.filter(({ name }) => !languages.includes(name));
  const english = others.filter(({ name }) => name === 'english');
  // The paper's means over ten languages exclude Thai (Tables 2 and 5).
  const rest = others.filter(
    (language) => mgsmLanguages.includes(language) && !['english', 'thai'].includes(language.name),
  );
  const here = new Set(choices.averagesAll === true ? choices.here : []);
  const isHere = (language: EvaluationLanguage) => ownTasks(language).every((task) => here.has(task));
  const [found, lacking] = [rest.filter(isHere), rest.filter((language) => !isHere(language))];
  const line = (language: EvaluationLanguage) => `${language.name}: ${listed(ownTasks(language))}`;
  return [
    '',
    `# Scores, by ${layerloomCommand('evaluate', 'DIR')}: ${titleOf(choices)}`,
    ...leftOut(choices),
    'evaluate:',
    '  harness: lm-eval',
    '  tasks:',
    ...own.map((language) => `    ${line(language)}`),
    ...english.flatMap((language) => [
      '    # Not a language of the experts: measured for every model.',
      `    ${line(language)}`,
    ]),
    ...(found.length === 0
      ? []
      : ["    # More of the paper's ten languages, whose data are there, for the mean over all."]),
    ...found.map((language) => `    ${line(language)}`),
    ...(lacking.length === 0
      ? []
      : [
          "    # The rest of the paper's ten languages, for the mean over all; every model is measured in each.",
        ]),
    ...lacking.map((language) => `    # ${line(language)}`),
    ...shotLines([...own, ...english, ...found].flatMap(ownTasks), choices.fewshot),
    '  # Measures every model in every language above, not only in its own; the mean over all needs it.',
    found.length === 0 ? '  # every_language: true' : '  every_language: true',
    ...(data === undefined
      ? [
          '  # A folder with mgsm_sw.tsv, ...; without it the data are loaded from the Hugging Face hub.',
          '  # data: ./mgsm',
        ]
      : [`  data: ${scalar(data)}`]),
    ...(Object.keys(selectedBy).length === 0
      ? []
      : [
          '  # The experts were chosen by these scores: on these rows their scores are too high, and tables say so.',
          '  selected_by:',
          ...Object.entries(selectedBy).map(([task, rows]) => `    ${scalar(task)}: ${scalar(rows)}`),
        ]),
    ...(problems === undefined
      ? []
      : [
          '  # The rows of each task that may be scored: others may have been trained on.',
          `  problems: ${problems}`,
        ]),
    ...(problems !== undefined
      ? []
      : limit === undefined
        ? ['  # Only the first problems of each task, to try it out.', '  # limit: 20']
        : [
            '  # Only the first problems of each task: too few to say which model is better.',
            `  limit: ${limit}`,
          ]),
    // The base is bfloat16, its experts' checkpoints are float32.
    '  # All models in one precision, and likelihoods that are not rounded to it (for the back end hf).',
    '  # model_args: {dtype: bfloat16, softmax_dtype: float32}',
    ...(maxTokens === undefined
      ? []
      : ['  # Maximum number of tokens in an answer.', `  max_tokens: ${maxTokens}`]),
    ...(device === undefined ? [] : [`  device: ${device}`]),
    ...(batchSize === undefined ? [] : [`  batch_size: ${batchSize}`]),
    ...(chosen.includes(benchmarks.mbpp)
      ? [
          '  # MBPP runs programs that models write, with your permissions. It is measured only if you consent:',
          '  # confirm_run_unsafe_code: true',
        ]
      : []),
  ];
};

const chosenOf = ({ benchmarks: names = ['mgsm'] }: EvaluationChoices): BenchmarkTasks[] =>
  names.map((name) => benchmarks[name]);

/** Returns the chosen benchmarks' tasks in a language; without local data, only tasks on the hub. */
const tasksIn = (language: EvaluationLanguage, choices: EvaluationChoices): string[] =>
  chosenOf(choices)
    .flatMap((each) => tasksOf(each, language))
    .filter((task) => choices.data !== undefined || !isLocalOnly(task));

/** Returns the experiment's languages for which no chosen benchmark has a task. */
export const languagesWithoutTasks = (
  languages: readonly string[],
  choices: EvaluationChoices,
): readonly string[] => {
  const measured = allLanguages.filter((language) => tasksIn(language, choices).length > 0);
  return languages.filter((name) => !measured.some((language) => language.name === name));
};

const leftOut = ({ benchmarks: names = [], data }: EvaluationChoices): string[] =>
  names.flatMap((name) => {
    if (data !== undefined) return [];
    const benchmark = benchmarks[name];
    const { title } = benchmark;
    const own = benchmark.languages.map((language) => tasksOf(benchmark, language));
    const ofHub = benchmark.languages.filter((language) =>
      tasksOf(benchmark, language).some((task) => !isLocalOnly(task)),
    );
    if (ofHub.length === 0)
      return [`# ${title} is left out: its data are not on the hub; set data: under evaluate.`];
    const needy = own.flat().some(isLocalOnly);
    const those = ofHub.map((language) => language.name).join(', ');
    return needy
      ? [
          `# ${title} is only in ${those}: data of other languages are not on the hub; set data: under evaluate.`,
        ]
      : [];
  });

const titleOf = ({ benchmarks: names = ['mgsm'], limit }: EvaluationChoices): string =>
  names.length === 1 && names[0] === 'mgsm' && limit === undefined
    ? 'MGSM with 8 worked examples, exact match, as in the paper.'
    : `${names.map((name) => benchmarks[name].title).join(', ')}.`;

const listed = (tasks: readonly string[]): string =>
  tasks.length === 1 ? String(tasks[0]) : `[${tasks.join(', ')}]`;

/** Returns the lines on few-shot examples: a single number if all tasks that accept a number have the same. */
const shotLines = (tasks: readonly string[], fewshot: number | undefined): string[] => {
  const shots = new Map(
    tasks
      .filter((task) => !isZeroShot(task))
      .map((task): [string, number] => [task, fewshot ?? taskOf(task)?.shots ?? 0]),
  );
  const [first, ...others] = new Set(shots.values());
  if (first === undefined) return [];
  if (others.length === 0) return [`  fewshot: ${first}`];
  return ['  fewshot:', ...[...shots].map(([task, count]) => `    ${task}: ${count}`)];
};
