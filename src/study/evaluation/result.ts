/**
 * Problem's score. A pair has a sum and a weight, which the harness aggregates. For perplexities: a text's
 * log-likelihood, and its number of words or bytes.
 */
export type ProblemScore = number | readonly [sum: number, weight: number];

/** Outcome of one problem. Models are compared on problems with equal `document`, `prompt` and `target`. */
export interface ProblemResult {
  /** Harness's `doc_id`: the row number in the task's data. */
  readonly id: number;
  /** Harness's hashes of the problem's data, the full prompt and the target. */
  readonly document: string;
  readonly prompt: string;
  readonly target: string;
  /** Scores by the harness's `metric,filter`: `exact_match,flexible-extract`. */
  readonly scores: Readonly<Record<string, ProblemScore>>;
  /** Answer extracted by each filter. Empty if the task generates nothing. */
  readonly answers: Readonly<Record<string, string>>;
  /** Generated text; may be empty. */
  readonly response: string;
}

export type Outcome = Pick<ProblemResult, 'scores' | 'answers'>;

/** Model's scores by problem, as sums and weights; a plain score has weight 1. */
export interface ScoreColumn {
  readonly sums: Float64Array;
  readonly weights: Float64Array;
  /** False if a score has a weight other than 1. */
  readonly arePlain: boolean;
}

/** Spread over several answers to the same problems. */
export interface Drawn {
  /** Figures of each run; a run has one answer to every problem. */
  readonly runs: readonly EvaluationResult['metrics'][];
  /** Variance over each problem's answers, by metric. Metrics with weights are absent. */
  readonly variances: ReadonlyMap<string, Float64Array>;
}

/** Identifies a result: results with all fields equal are the same. */
export interface ResultIdentity {
  /** SHA-256 over the keys of a merge's shards, or over the identities of a checkpoint's files. */
  readonly weights: string;
  readonly task: string;
  readonly taskVersion: string;
  /** SHA-256 over the harness's hashes of prompts or, without samples, of chat template and system prompt. */
  readonly promptHash: string;
  readonly fewshot: number;
  /** Seeds in the form of the harness's `--seed`: `0,1234,1234,1234`. */
  readonly seed: string;
  /** Requested rows, end exclusive; null for all rows. */
  readonly rows: readonly [from: number, to: number] | null;
  /** Requested limit of an answer's tokens; null for the task's default. */
  readonly maxTokens: number | null;
  /** Sampling settings: `temperature=0.6,top_p=0.95`; null for greedy answers. */
  readonly sampling: string | null;
  /** `hf`, `vllm`, `local-completions`, …, with the arguments that may change answers. */
  readonly backend: string;
}

/** Model's result on one task: a file in `evaluations/` of the experiment's directory. */
export interface EvaluationResult extends ResultIdentity {
  readonly layerloom: string;
  /** Scored model's name; models with the same weights share the result. */
  readonly model: string;
  readonly harness: { readonly name: 'lm-eval'; readonly version: string };
  /** Harness's figures, by `metric,filter`; standard errors by `metric_stderr,filter`. Null if not stated. */
  readonly metrics: Readonly<Record<string, number | null>>;
  /** True if more is better, by metric without its filter. */
  readonly higherIsBetter: Readonly<Record<string, boolean>>;
  readonly n: number;
  /** Problems by row. Empty if imported without samples. */
  readonly problems: readonly ProblemResult[];
  /** Scores by metric, in order of `problems`, which then have no scores; never in a file. */
  readonly columns?: ReadonlyMap<string, ScoreColumn>;
  /** File in `evaluations/` with the problems' texts, by document hash. */
  readonly texts: string | null;
  readonly source: 'run' | 'imported';
  /** Spread over several answers, if the result joins them; never in a file. */
  readonly drawn?: Drawn;
  /** Results of each answer, if `drawn` is set and responses were read; never in a file. */
  readonly samples?: readonly EvaluationResult[];
  readonly started: string;
  readonly seconds: number;
}

/** Texts of a task's problems, by document hash; models share such files. */
export type ProblemTexts = Readonly<Record<string, { readonly question: string; readonly target: string }>>;

/** A model's score on one task, as in `experiment.json`. */
export interface Score {
  readonly taskVersion: string;
  readonly fewshot: number;
  readonly n: number;
  readonly rows: readonly [from: number, to: number] | null;
  /** Requested token limit of an answer; absent for the task's default. */
  readonly maxTokens?: number;
  /** Sampling settings; absent for greedy answers. */
  readonly sampling?: string;
  /** Metrics; if problems have several answers, means over these. */
  readonly metrics: Readonly<Record<string, number | null>>;
  /** Metric that scores the task, as `metric,filter`. Absent in records of earlier versions. */
  readonly headline?: string;
  /** Result's file, relative to the experiment's directory. */
  readonly result: string;
  /** Results of all answers, the first included; absent for a single answer. */
  readonly samples?: readonly string[];
}

/** Scores by the harness's name of the task. */
export type Scores = Readonly<Record<string, Score>>;
