import { type EvaluationLanguage, mgsmLanguages } from './local/languages.js';

export type Benchmark = 'MGSM' | 'BELEBELE' | 'FLORES' | 'MBPP' | 'MMLU' | 'perplexity';

/** Facts derived from a task's name. */
export interface TaskFacts {
  readonly benchmark: Benchmark;
  /** The name, `swahili`. For FLORES the language other than English. A code for languages outside MGSM. */
  readonly language: string;
  /** Null except for FLORES. */
  readonly direction: 'from English' | 'to English' | null;
  /** Metrics, as `metric,filter`, that judge the task. The first one that a result has is taken. */
  readonly headline: readonly string[];
  readonly higherIsBetter: boolean;
  /** Few-shot examples in the paper's Table 5; null for tasks outside it. */
  readonly paperShots: number | null;
}

interface TaskFamily extends Omit<TaskFacts, 'language' | 'direction'> {
  /** The group `language` is the language's code; without it the task is English. */
  readonly name: RegExp;
}

const accuracy = ['acc,none'];

const families: readonly TaskFamily[] = [
  {
    name: /^layerloom_mgsm_ppl_(?<language>[a-z]{2})$/,
    benchmark: 'perplexity',
    headline: ['byte_perplexity,none'],
    higherIsBetter: false,
    paperShots: null,
  },
  {
    name: /^layerloom_mgsm_(?<language>[a-z]{2})$/,
    benchmark: 'MGSM',
    headline: ['exact_match,last-number', 'exact_match,flexible-extract'],
    higherIsBetter: true,
    paperShots: 8,
  },
  {
    name: /^mgsm_(?:direct|native_cot|en_cot)_(?<language>[a-z]{2})$/,
    benchmark: 'MGSM',
    headline: ['exact_match,flexible-extract', 'exact_match,remove_whitespace'],
    higherIsBetter: true,
    paperShots: 8,
  },
  {
    name: /^belebele_(?<language>[a-z]{3}_[A-Z][a-z]{3})$/,
    benchmark: 'BELEBELE',
    headline: accuracy,
    higherIsBetter: true,
    paperShots: 5,
  },
  {
    name: /^global_mmlu_(?:full_)?(?<language>[a-z]{2,3})$/,
    benchmark: 'MMLU',
    headline: accuracy,
    higherIsBetter: true,
    paperShots: 5,
  },
  { name: /^mmlu$/, benchmark: 'MMLU', headline: accuracy, higherIsBetter: true, paperShots: 5 },
  {
    name: /^layerloom_flores_(?:eng_)?(?<language>(?!eng)[a-z]{3})(?:_eng)?$/,
    benchmark: 'FLORES',
    // Judges by BLEU over characters if a task has it; BLEU over words says little then.
    headline: ['bleu_char,none', 'bleu,none'],
    higherIsBetter: true,
    paperShots: 0,
  },
  {
    name: /^layerloom_mbpp_(?<language>[a-z]{2})$/,
    benchmark: 'MBPP',
    headline: ['pass_at_1,none'],
    higherIsBetter: true,
    paperShots: 0,
  },
  {
    name: /^mbpp(?:_plus)?(?:_instruct)?$/,
    benchmark: 'MBPP',
    headline: ['pass_at_1,none', 'pass_at_1,extract_code', 'pass@1,create_test'],
    higherIsBetter: true,
    paperShots: 0,
  },
];

const hasCode =
  (code: string) =>
  (language: EvaluationLanguage): boolean =>
    [language.code, language.flores, language.flores.slice(0, 3)].includes(code);

const languageOf = (code: string | undefined): string =>
  code === undefined ? 'english' : (mgsmLanguages.find(hasCode(code))?.name ?? code);

const directionOf = (task: string): TaskFacts['direction'] => {
  if (!task.startsWith('layerloom_flores_')) return null;
  return task.endsWith('_eng') ? 'to English' : 'from English';
};

/** Returns undefined for tasks outside the paper's tables. */
export const taskOf = (task: string): TaskFacts | undefined => {
  for (const { name, ...facts } of families) {
    const match = name.exec(task);
    if (match)
      return { ...facts, language: languageOf(match.groups?.['language']), direction: directionOf(task) };
  }
  return undefined;
};

/** True if the task's file fixes 0 worked examples; the harness ignores other numbers. */
export const isZeroShot = (task: string): boolean => /^layerloom_(mgsm_ppl|flores)_/.test(task);

/** True for tasks known to need log-likelihoods only. */
export const generatesNothing = (task: string): boolean => {
  const benchmark = taskOf(task)?.benchmark;
  return benchmark === 'BELEBELE' || benchmark === 'MMLU' || benchmark === 'perplexity';
};

/** True for tasks known to run generated code. The harness refuses others. */
export const runsCode = (task: string): boolean => taskOf(task)?.benchmark === 'MBPP';

/** Metrics of tasks that `taskOf` does not know, the most quoted ones first. */
const usual = [
  'exact_match,flexible-extract',
  'exact_match,strict-match',
  'acc_norm,none',
  'acc,none',
  'pass@1,create_test',
  'bleu,none',
  'byte_perplexity,none',
];

/**
 * Returns the metric that judges a task, as `metric,filter`.
 *
 * @param metrics of the task's result, with or without standard errors
 */
export const headlineMetric = (task: string, metrics: Iterable<string>): string | undefined => {
  const present = [...metrics].filter((metric) => !/^alias$|_stderr(,|$)/.test(metric));
  return (
    [...(taskOf(task)?.headline ?? []), ...usual].find((metric) => present.includes(metric)) ?? present[0]
  );
};
