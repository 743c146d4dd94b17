import { floresTasksOf } from './local/flores-task.js';
import type { EvaluationLanguage } from './local/languages.js';

/** A benchmark, and the harness's tasks that measure it. */
export interface BenchmarkTasks {
  readonly title: string;
  readonly measures: string;
  /** Returns the tasks of a language; none if the benchmark lacks it. */
  readonly tasksOf: (language: EvaluationLanguage) => readonly string[];
  /** Local files of a language (`LANG`), and the columns of their rows. Absent if only the hub has data. */
  readonly data?: { readonly files: string; readonly rows: string };
}

const isEnglish = ({ code }: EvaluationLanguage): boolean => code === 'en';

/** The paper's benchmarks (Table 5), and perplexity for small models. */
export const benchmarks = {
  mgsm: {
    title: 'MGSM',
    measures: 'school mathematics, exact match',
    tasksOf: ({ code }) => [`layerloom_mgsm_${code}`],
    data: {
      files: 'mgsm_LANG.tsv, exemplars.json',
      rows: 'question, tab, answer; of exemplars.json {LANG: {"1": {"q", "a"}, …}}',
    },
  },
  belebele: {
    title: 'BELEBELE',
    measures: 'reading comprehension, accuracy',
    tasksOf: ({ flores }) => [`belebele_${flores}`],
    data: {
      files: 'belebele/LANG.jsonl',
      rows: 'flores_passage, question, mc_answer1 … mc_answer4, correct_answer_num (1–4)',
    },
  },
  flores: {
    title: 'FLORES-200',
    measures: 'translation from and to English, BLEU',
    tasksOf: floresTasksOf,
    data: {
      files: 'flores/LANG.devtest',
      rows: 'a sentence a line, the same line in all languages',
    },
  },
  mmlu: {
    title: 'MMLU',
    measures: 'knowledge, accuracy; in other languages Global-MMLU',
    // Global-MMLU has no Thai.
    tasksOf: (language) =>
      isEnglish(language) ? ['mmlu'] : language.code === 'th' ? [] : [`global_mmlu_full_${language.code}`],
    data: {
      files: 'mmlu/test.jsonl, mmlu/dev.jsonl; global_mmlu/LANG/test.jsonl, global_mmlu/LANG/dev.jsonl',
      rows: 'question, choices (four), answer (0–3), subject; of Global-MMLU question, option_a … option_d, answer (A–D), subject',
    },
  },
  mbpp: {
    title: 'MBPP',
    measures: 'Python programs, pass@1; it runs what models write',
    tasksOf: ({ code }) => [`layerloom_mbpp_${code}`],
    data: {
      files: 'mbpp/LANG.jsonl',
      rows: 'task_id (11–510; 2–4 are the worked examples), text (the description, in the language), code, test_list (three)',
    },
  },
  perplexity: {
    title: 'Perplexity',
    measures: "of MGSM's questions, for small models",
    tasksOf: ({ code }) => [`layerloom_mgsm_ppl_${code}`],
    data: {
      files: 'mgsm_LANG.tsv',
      rows: 'those of MGSM',
    },
  },
} as const satisfies Readonly<Record<string, BenchmarkTasks>>;

export type BenchmarkName = keyof typeof benchmarks;

export const isBenchmarkName = (name: string): name is BenchmarkName => Object.hasOwn(benchmarks, name);

export const benchmarkNames: readonly BenchmarkName[] = Object.keys(benchmarks).filter(isBenchmarkName);

/** All benchmarks but perplexity. */
export const paperBenchmarks: readonly BenchmarkName[] = benchmarkNames.filter(
  (name) => name !== 'perplexity',
);
