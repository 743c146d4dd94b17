import type { EvaluationLanguage, Spelling } from './local/languages.js';

/** Tasks that are asked alike in each language. */
export interface TaskForm {
  /** The harness's name: an expression, with LANG for the language. The first form of a benchmark is plain. */
  readonly name: string;
  /** Metrics, as `metric,filter`, that judge the task. The first one that a result has is taken. */
  readonly metrics: readonly string[];
  /** Few-shot examples in the paper's Table 5, else the harness's number. */
  readonly shots: number | null;
  /** Maps answers that its metric calls equal to one text. An empty text is no answer. */
  readonly sameAnswer?: (answer: string) => string;
  /** True if tables count it as a benchmark of its own, named by the task without its language. */
  readonly isApart?: boolean;
  /** Models are asked for this; default: the benchmark's `asks`. */
  readonly asks?: Asks;
  /** Local rows, if `data:` can hold them. */
  readonly rows?: LocalRows;
}

/** Kinds of requests. Only answers and programs are generated, and programs are run. */
export type Asks = 'answers' | 'choices' | 'likelihoods' | 'programs';

/** A column's content: a list has the values that are allowed. */
export type Column = 'text' | 'text?' | 'whole' | 'four texts' | readonly (string | number)[];

/** Local rows of the harness's own tasks, as JSON lines with the hub's columns. */
export interface LocalRows {
  /** Folder of `lm_eval/tasks`. */
  readonly harness: string;
  /** Possible files of a split, with LANG for the language and SPLIT for the split. */
  readonly files: readonly [string, ...string[]];
  /** Splits by the harness's names, the scored one first. */
  readonly splits: readonly [string, ...string[]];
  readonly columns: Readonly<Record<string, Column>>;
  /** The column that divides a group's rows among its tasks, and its values in a language. */
  readonly by?: {
    readonly column: string;
    readonly members: (language: string) => readonly string[];
  };
}

export interface BenchmarkTasks {
  readonly title: string;
  readonly measures: string;
  /** The name in tables; default: the title. */
  readonly inTables?: string;
  readonly forms: readonly [TaskForm, ...TaskForm[]];
  readonly spelling?: Spelling;
  readonly languages: readonly EvaluationLanguage[];
  /** Replaces the first form's names. */
  readonly tasksOf?: (language: EvaluationLanguage) => readonly string[];
  readonly problems?: number;
  readonly asks: Asks;
  readonly isPaper?: boolean;
  /** Local files of a language (`LANG`), and their rows, of tasks that are not the harness's. */
  readonly data?: { readonly files: string; readonly rows: string };
  /** A caveat that is shown under the benchmark's tables. */
  readonly caveat?: string;
}
