import type { Declared } from '../declared.js';
import type { Asks, BenchmarkTasks, TaskForm } from './benchmark.js';
import { benchmarks, spelled } from './benchmarks.js';
import { type EvaluationLanguage, languages } from './local/languages.js';

export interface TaskFacts {
  /** Benchmark's name in tables: `MGSM`. Means over languages are of tasks with this name. */
  readonly benchmark: string;
  /** Language's name, `swahili`; an unknown language's code. For FLORES, the language other than English. */
  readonly language: string;
  /** FLORES' direction of translation; null for other tasks. */
  readonly direction: 'from English' | 'to English' | null;
  readonly headline: readonly string[];
  readonly higherIsBetter: boolean;
  /** Number of few-shot examples: Table 5's, else the harness's default; null for perplexity. */
  readonly shots: number | null;
  readonly asks: Asks;
  /** Maps equivalent answers to the same text; undefined if only identical texts are equivalent. */
  readonly sameAnswer: TaskForm['sameAnswer'];
  readonly problems: number | undefined;
  /** Caveat below the benchmark's tables. */
  readonly caveat: string | undefined;
}

/** Task's form and language; null for a task without languages. */
export interface TaskMatch {
  readonly benchmark: BenchmarkTasks;
  readonly form: TaskForm;
  readonly code: string | null;
  readonly language: EvaluationLanguage | undefined;
}

/** Patterns for languages without a declaration. FLORES' codes cannot be mistaken for words. */
const anyCode: Readonly<Record<string, string>> = { flores: '[a-z]{3}_[A-Z][a-z]{3}' };

let patterns: (readonly [RegExp, BenchmarkTasks, TaskForm])[] | undefined;

const patternsOf = (): NonNullable<typeof patterns> => {
  patterns ??= Object.values<BenchmarkTasks>(benchmarks).flatMap((benchmark) => {
    const { spelling = 'code', languages: own, forms } = benchmark;
    const codes = anyCode[spelling] ?? own.map((language) => spelled(language, spelling)).join('|');
    return forms.map(
      (form) =>
        [new RegExp(`^${form.name.replace('LANG', `(?<language>${codes})`)}$`), benchmark, form] as const,
    );
  });
  return patterns;
};

/** Returns a task's benchmark and language; undefined for undeclared benchmarks. */
export const matchTask = (task: string): TaskMatch | undefined => {
  for (const [pattern, benchmark, form] of patternsOf()) {
    const match = pattern.exec(task);
    if (match === null) continue;
    const code = match.groups?.['language'] ?? null;
    const language = languages.find((one) =>
      [one.code, one.flores, one.flores.slice(0, 3), one.iso3, spelled(one, 'name')].includes(code ?? 'en'),
    );
    return { benchmark, form, code, language };
  }
  return undefined;
};

const directionOf = (task: string): TaskFacts['direction'] => {
  if (!task.startsWith('layerloom_flores_')) return null;
  return task.endsWith('_eng') ? 'to English' : 'from English';
};

export const taskOf = (task: string): TaskFacts | undefined => {
  const match = matchTask(task);
  if (match === undefined) return undefined;
  const { benchmark, form, code, language } = match;
  const { title, inTables = title, asks, problems, caveat } = benchmark;
  return {
    benchmark: form.isApart ? task.replace(`_${code}`, '') : inTables,
    language: language?.name ?? code ?? 'english',
    direction: directionOf(task),
    headline: form.metrics,
    higherIsBetter: asks !== 'likelihoods',
    shots: form.shots,
    asks: form.asks ?? asks,
    sameAnswer: form.sameAnswer,
    problems: form.isApart ? undefined : problems,
    caveat,
  };
};

/** True if the task's file fixes 0 worked examples; the harness ignores other numbers. */
export const isZeroShot = (task: string): boolean => /^layerloom_(mgsm_ppl|flores)_/.test(task);

/** True for tasks known to need only log-likelihoods. */
export const generatesNothing = (task: string): boolean => {
  const asks = taskOf(task)?.asks;
  return asks === 'choices' || asks === 'likelihoods';
};

/** True for tasks known to run generated code; the harness requires consent. */
export const runsCode = (task: string): boolean => taskOf(task)?.asks === 'programs';

/** Metrics for tasks that `taskOf` does not know, in order of preference. */
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
 * Returns the metric that scores a task, as `metric,filter`.
 *
 * @param metrics names in the task's result, with or without standard errors
 * @param declared the experiment's own benchmarks, whose metric is preferred
 */
export const headlineMetric = (
  task: string,
  metrics: Iterable<string>,
  declared?: Declared,
): string | undefined => {
  const present = [...metrics].filter((metric) => !/^alias$|_stderr(,|$)/.test(metric));
  return (
    [declared?.get(task)?.metric, ...(taskOf(task)?.headline ?? []), ...usual].find(
      (metric) => metric !== undefined && present.includes(metric),
    ) ?? present[0]
  );
};
