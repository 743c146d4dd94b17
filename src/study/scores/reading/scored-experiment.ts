import type { TrainedModel } from '../../evaluation/data/trained-models.js';
import type { Declared } from '../../evaluation/declared.js';
import type { EvaluationResult, ProblemTexts } from '../../evaluation/result.js';

export interface ScoredModel {
  /** `swahili/math-1+swh-1/default` for a merge; otherwise the expert's, base's or reference's name. */
  readonly name: string;
  /** `merge`, or a reference's role: `base`, `task`, `language`, or the experiment's own (`joint`). */
  readonly role: string;
  /** Merge's language or `all`; null for references. */
  readonly language: string | null;
  /** A language expert's languages. A reference's: those that limit it, or where it is measured. */
  readonly languages: readonly string[];
  /** Merge's task expert, `soup`, or null. */
  readonly task: string | null;
  /** Merge's language expert, `soup`, `all-soup`, or null. */
  readonly languageExpert: string | null;
  readonly method: string | null;
  /** Entry under `merges` in the experiment's file; null for references. */
  readonly entry: string | null;
  /** Merge's name without language and pair: `default`, `grid/b3-u0-tb0-tu0-uniform`. Null for references. */
  readonly variant: string | null;
  readonly configuration: Readonly<Record<string, unknown>>;
  /** Path of the checkpoint; null if only its results are known. */
  readonly path: string | null;
  /** Results by the harness's task name. */
  readonly results: ReadonlyMap<string, EvaluationResult>;
}

/** True for the base, task experts, merges of all languages, and this language's models and references. */
export const isOfLanguage = (
  { role, language: own, languages }: Pick<ScoredModel, 'role' | 'language' | 'languages'>,
  language: string,
): boolean => {
  if (role === 'merge') return own === language || own === 'all';
  return role === 'base' || role === 'task' || languages.includes(language);
};

/** Figure published or computed elsewhere, without results by problem. */
export interface ImportedSummary {
  /** Row or column in the published table: `base`, `math expert`, `swap default`, … */
  readonly row: string;
  readonly language: string;
  readonly benchmark: string;
  readonly statistic: 'min' | 'avg' | 'max';
  readonly value: number;
  readonly unit: 'percent' | 'share' | 'BLEU';
  readonly n?: number;
  /** Warning about the figure, shown in tables. */
  readonly note?: string;
  readonly file: string;
}

/** All results of an experiment, for tables, reports and searches. */
export interface ScoredExperiment {
  /** Absolute path of the experiment's directory; null for imported summaries only. */
  readonly directory: string | null;
  readonly languages: readonly string[];
  /** Tasks by language as in `evaluate:`, including languages without experts (English). */
  readonly tasks: ReadonlyMap<string, readonly string[]>;
  readonly models: readonly ScoredModel[];
  readonly declared?: Declared;
  /** Models that runs of `train init` trained, with these runs. */
  readonly trained?: readonly TrainedModel[];
  /** Warnings about all figures, such as that experts were chosen by some of these scores. */
  readonly caveats?: readonly string[];
  readonly texts: ProblemTexts;
  readonly summaries: readonly ImportedSummary[];
  readonly warnings: readonly string[];
}

/** Returns the metric that scores a task, as `metric,filter`; undefined if the task has no results. */
export type HeadlineMetric = (task: string) => string | undefined;
