/**
 * A number for one problem. A pair has a sum and a weight, from which the harness aggregates. For
 * perplexities they are a text's log-likelihood and its number of words or bytes.
 */
export type ProblemScore = number | readonly [sum: number, weight: number];

/** The outcome of one problem. Models are compared on problems of equal `document`, `prompt` and `target`. */
export interface ProblemResult {
  /** The harness's `doc_id`: the row in the task's data. */
  readonly id: number;
  /** The harness's hashes of the problem's data, the whole prompt and the expected answer. */
  readonly document: string;
  readonly prompt: string;
  readonly target: string;
  /** Scores by `metric,filter`, in the harness's names: `exact_match,flexible-extract`. */
  readonly scores: Readonly<Record<string, ProblemScore>>;
  /** The answer that each filter extracted. Empty if the task generates nothing. */
  readonly answers: Readonly<Record<string, string>>;
  /** The generated text; may be empty. */
  readonly response: string;
}

/** Scores and answers of one problem. */
export type Outcome = Pick<ProblemResult, 'scores' | 'answers'>;

/** Scores of one model for each problem, as a sum and a weight; a plain score has weight 1. */
export interface ScoreColumn {
  readonly sums: Float64Array;
  readonly weights: Float64Array;
  /** False if a score has a weight. */
  readonly arePlain: boolean;
}

/** How several answers to the same problems differ. */
export interface Drawn {
  /** The figures of each run. A run has one answer to every problem. */
  readonly runs: readonly EvaluationResult['metrics'][];
  /** By metric, the variance over the answers to each problem. Metrics with weights are absent. */
  readonly variances: ReadonlyMap<string, Float64Array>;
}

/** Identifies a result: results that agree in all of these fields are the same. */
export interface ResultIdentity {
  /** SHA-256 of the keys of a merge's shards, or of the identities of a checkpoint's files. */
  readonly weights: string;
  /** The task, by the harness's name. */
  readonly task: string;
  readonly taskVersion: string;
  /** SHA-256 over the harness's prompt hashes, in order of problems; empty without samples. */
  readonly promptHash: string;
  readonly fewshot: number;
  /** The seeds, as in the harness's `--seed`: `0,1234,1234,1234`. */
  readonly seed: string;
  /** The requested rows, end exclusive; null for all. */
  readonly rows: readonly [from: number, to: number] | null;
  /** The requested limit of an answer's tokens; null for the task's default. */
  readonly maxTokens: number | null;
  /** How the answer was drawn: `temperature=0.6,top_p=0.95`; null for a greedy one. */
  readonly sampling: string | null;
  /** `hf`, `vllm`, `local-completions`, …, with the arguments that may change answers. */
  readonly backend: string;
}

/** A model's result in one task: a file in `evaluations/` of an experiment's directory. */
export interface EvaluationResult extends ResultIdentity {
  /** The version that wrote the file. */
  readonly layerloom: string;
  /** The scored model's name; others with the same weights share the result. */
  readonly model: string;
  readonly harness: { readonly name: 'lm-eval'; readonly version: string };
  /**
   * The harness's figures, by `metric,filter`; standard errors by `metric_stderr,filter`. Null if not stated.
   */
  readonly metrics: Readonly<Record<string, number | null>>;
  /** True if more is better, by metric without its filter. */
  readonly higherIsBetter: Readonly<Record<string, boolean>>;
  readonly n: number;
  /** Problems in order of rows. Empty if imported without samples. */
  readonly problems: readonly ProblemResult[];
  /** Scores by metric, in order of `problems`, whose own are empty then; never in a file. */
  readonly columns?: ReadonlyMap<string, ScoreColumn>;
  /** File in `evaluations/` with the problems' texts, by document hash. */
  readonly texts: string | null;
  readonly source: 'run' | 'imported';
  /** For a result that joins several answers; never in a file. */
  readonly drawn?: Drawn;
  /** The results of each answer, if `drawn` and read with responses; never in a file. */
  readonly samples?: readonly EvaluationResult[];
  /** ISO 8601. */
  readonly started: string;
  readonly seconds: number;
}

/** The texts of a task's problems, by document hash; models share such files. */
export type ProblemTexts = Readonly<Record<string, { readonly question: string; readonly target: string }>>;

/** A model's score in one task, as in `experiment.json`. */
export interface Score {
  readonly taskVersion: string;
  readonly fewshot: number;
  readonly n: number;
  readonly rows: readonly [from: number, to: number] | null;
  /** The requested limit of an answer's tokens; absent for the task's default. */
  readonly maxTokens?: number;
  /** How answers were drawn; absent for greedy ones. */
  readonly sampling?: string;
  /** With several answers to each problem, the means over these. */
  readonly metrics: Readonly<Record<string, number | null>>;
  /** The metric that judges the task, as `metric,filter`. Absent in records of earlier versions. */
  readonly headline?: string;
  /** The result's file, relative to the experiment's directory. */
  readonly result: string;
  /** The results of all answers, that of the first included; absent if there is one answer. */
  readonly samples?: readonly string[];
}

/** Scores by the harness's name of the task. */
export type Scores = Readonly<Record<string, Score>>;
