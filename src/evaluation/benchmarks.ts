import { type EvaluationLanguage, floresLanguages } from './languages.js';

/** A benchmark, and the tasks of the harness that measure it. */
export interface BenchmarkTasks {
  readonly title: string;
  readonly measures: string;
  /** Returns the tasks in a language; none if the benchmark does not have it. */
  readonly tasksOf: (language: EvaluationLanguage) => readonly string[];
  /** True if no data of it are on the hub in a form that tasks can read. */
  readonly isLocalOnly?: boolean;
}

const isEnglish = ({ code }: EvaluationLanguage): boolean => code === 'en';

const floresCode = ({ flores }: EvaluationLanguage): string => flores.slice(0, 3);

/** The paper's benchmarks (Table 5), and perplexity for small models. */
export const benchmarks = {
  mgsm: {
    title: 'MGSM',
    measures: 'school mathematics, exact match',
    tasksOf: ({ code }) => [`layerloom_mgsm_${code}`],
  },
  belebele: {
    title: 'BELEBELE',
    measures: 'reading comprehension, accuracy',
    tasksOf: ({ flores }) => [`belebele_${flores}`],
  },
  flores: {
    title: 'FLORES-200',
    measures: 'translation from and to English, BLEU',
    tasksOf: (language) =>
      isEnglish(language) || !Object.hasOwn(floresLanguages, floresCode(language))
        ? []
        : [`layerloom_flores_eng_${floresCode(language)}`, `layerloom_flores_${floresCode(language)}_eng`],
    isLocalOnly: true,
  },
  mmlu: {
    title: 'MMLU',
    measures: 'knowledge, accuracy; in other languages Global-MMLU',
    // Global-MMLU has no Thai.
    tasksOf: (language) =>
      isEnglish(language) ? ['mmlu'] : language.code === 'th' ? [] : [`global_mmlu_full_${language.code}`],
  },
  mbpp: {
    title: 'MBPP',
    measures: 'Python programs, pass@1; it runs what models write',
    tasksOf: (language) => (isEnglish(language) ? ['mbpp'] : []),
  },
  perplexity: {
    title: 'Perplexity',
    measures: "of MGSM's questions, for small models",
    tasksOf: ({ code }) => [`layerloom_mgsm_ppl_${code}`],
  },
} as const satisfies Readonly<Record<string, BenchmarkTasks>>;

/** A benchmark's name: `mgsm`. */
export type BenchmarkName = keyof typeof benchmarks;

export const isBenchmarkName = (name: string): name is BenchmarkName => Object.hasOwn(benchmarks, name);

export const benchmarkNames: readonly BenchmarkName[] = Object.keys(benchmarks).filter(isBenchmarkName);

/** The paper's: perplexity is none of them. */
export const paperBenchmarks: readonly BenchmarkName[] = benchmarkNames.filter(
  (name) => name !== 'perplexity',
);
