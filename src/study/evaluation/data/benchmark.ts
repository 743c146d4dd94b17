import type { EvaluationLanguage, Spelling } from './local/languages.js';

/** Tasks with the same kind of prompt in every language. */
export interface TaskForm {
  /** Task name as a regular expression; LANG is the language. The first form's name has no wildcards. */
  readonly name: string;
  /** Metrics that score the task, as `metric,filter`; the first that a result has is used. */
  readonly metrics: readonly string[];
  /** Number of few-shot examples, from Table 5 for the paper's benchmarks; null: the harness's default. */
  readonly shots: number | null;
  /** Maps equivalent answers to the same text. An empty text means no answer. */
  readonly sameAnswer?: (answer: string) => string;
  /** True if tables list the task as a separate benchmark, named without the language. */
  readonly isApart?: boolean;
  /** Kind of request; default: the benchmark's `asks`. */
  readonly asks?: Asks;
  readonly rows?: LocalRows;
}

/**
 * Kinds of requests to a model. Only for `answers` and `programs` does the model generate text; programs are then run.
 */
export type Asks = 'answers' | 'choices' | 'likelihoods' | 'programs';

/** Type of a column; a list gives the allowed values. */
export type Column = 'text' | 'text?' | 'whole' | 'four texts' | readonly (string | number)[];

/** Local rows for the harness's own tasks: JSON lines with the hub's columns. */
export interface LocalRows {
  /** Folder of `lm_eval/tasks`. */
  readonly harness: string;
  /** Possible files of a split, with LANG for the language and SPLIT for the split. */
  readonly files: readonly [string, ...string[]];
  /** Splits by the harness's names; the first is scored. */
  readonly splits: readonly [string, ...string[]];
  readonly columns: Readonly<Record<string, Column>>;
  /** Column that distinguishes a group's tasks, and its values in a language. */
  readonly by?: {
    readonly column: string;
    readonly members: (language: string) => readonly string[];
  };
}

export interface BenchmarkTasks {
  readonly title: string;
  readonly measures: string;
  /** Name in tables; default: the title. */
  readonly inTables?: string;
  readonly forms: readonly [TaskForm, ...TaskForm[]];
  readonly spelling?: Spelling;
  readonly languages: readonly EvaluationLanguage[];
  /** Returns task names, in place of the names that the first form gives. */
  readonly tasksOf?: (language: EvaluationLanguage) => readonly string[];
  readonly problems?: number;
  readonly asks: Asks;
  readonly isPaper?: boolean;
  /**
   * Names of the local files, with LANG for the language, and their format, for tasks that the harness lacks.
   */
  readonly data?: { readonly files: string; readonly rows: string };
  /** Caveat below the benchmark's tables. */
  readonly caveat?: string;
}
