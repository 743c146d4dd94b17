import type { EvaluationResult, ProblemTexts } from '../evaluation/result.js';

/** A model of an experiment with its results. */
export interface ScoredModel {
  /** `swahili/math-1+swh-1/default` for a merge; otherwise the name of the expert, the base or the reference. */
  readonly name: string;
  /** `merge`, or a reference's role: `base`, `task`, `language`, or one that the experiment names (`joint`). */
  readonly role: string;
  /** The language of a merge, or `all`; null for references. */
  readonly language: string | null;
  /** The languages of a language expert; those a reference is limited to, else those it is measured in. */
  readonly languages: readonly string[];
  /** A merge's task expert: its name, `soup`, or null. */
  readonly task: string | null;
  /** A merge's language expert: its name, `soup`, `all-soup`, or null. */
  readonly languageExpert: string | null;
  readonly method: string | null;
  /** Name of the entry under `merges` in the experiment's file; null for references. */
  readonly entry: string | null;
  /**
   * What distinguishes the merge from others of its pair: its name without language and pair, `default` or
   * `grid/b3-u0-tb0-tu0-uniform`; null for references.
   */
  readonly variant: string | null;
  readonly configuration: Readonly<Record<string, unknown>>;
  /** Path of the checkpoint; null where only results are known. */
  readonly path: string | null;
  /** By the harness's name of the task. */
  readonly results: ReadonlyMap<string, EvaluationResult>;
}

/**
 * True if a model counts among those of a language: its own merges and those of all languages, the base and task experts,
 * and of language experts and further references those that are for it.
 */
export const isOfLanguage = (
  { role, language: own, languages }: Pick<ScoredModel, 'role' | 'language' | 'languages'>,
  language: string,
): boolean => {
  if (role === 'merge') return own === language || own === 'all';
  return role === 'base' || role === 'task' || languages.includes(language);
};

/** A figure that was published or computed elsewhere, for which no results by problem are at hand. */
export interface ImportedSummary {
  /** The table's row or column that it belongs to: `base`, `math expert`, `swap default`, … */
  readonly row: string;
  readonly language: string;
  /** The benchmark: `MGSM`, `BELEBELE`, … */
  readonly benchmark: string;
  readonly statistic: 'min' | 'avg' | 'max';
  /** On the scale of `unit`. */
  readonly value: number;
  readonly unit: 'percent' | 'share' | 'BLEU';
  /** Number of models that it summarises, if known. */
  readonly n?: number;
  /** A doubt about the figure, which tables show with it. */
  readonly note?: string;
  /** The file it was read from. */
  readonly file: string;
}

/** All results of an experiment: what tables, reports and searches are made of. */
export interface ScoredExperiment {
  /** Absolute path of the experiment's directory; null if there are only imported summaries. */
  readonly directory: string | null;
  /** The experiment's own languages, in its order. */
  readonly languages: readonly string[];
  /** Tasks by language, as `evaluate:` has them; also of languages that no expert is for (English). */
  readonly tasks: ReadonlyMap<string, readonly string[]>;
  readonly models: readonly ScoredModel[];
  /** What is to be known of all figures: that experts were chosen by some of these scores. Absent where nothing is. */
  readonly caveats?: readonly string[];
  /** Texts of problems by document hash. */
  readonly texts: ProblemTexts;
  readonly summaries: readonly ImportedSummary[];
  readonly warnings: readonly string[];
}

/** Returns the metric that a task is judged by, as `metric,filter`; undefined without results of the task. */
export type HeadlineMetric = (task: string) => string | undefined;
