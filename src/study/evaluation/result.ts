/**
 * One number of a problem. A pair is a sum and its weight, from which the harness aggregates over problems: the
 * log-likelihood of a text and its number of words or bytes, for perplexities.
 */
export type ProblemScore = number | readonly [sum: number, weight: number];

/** The outcome of one problem. Two models are compared on problems of equal `document`, `prompt` and `target`. */
export interface ProblemResult {
  /** The harness's `doc_id`: the row in the task's data. */
  readonly id: number;
  /** The harness's hashes of the problem's data, the whole prompt and the expected answer. */
  readonly document: string;
  readonly prompt: string;
  readonly target: string;
  /** By `metric,filter`, in the harness's names: `exact_match,flexible-extract`. */
  readonly scores: Readonly<Record<string, ProblemScore>>;
  /** The answer that each filter found, by filter. Empty for tasks that generate nothing. */
  readonly answers: Readonly<Record<string, string>>;
  /** The generated text; empty for tasks that generate nothing. */
  readonly response: string;
}

/** What a result is a result of. Two results that agree in all of it are the same. */
export interface ResultIdentity {
  /** SHA-256 of what the weights are: the keys of a merge's shards, or the identities of a checkpoint's files. */
  readonly weights: string;
  /** The harness's name of the task. */
  readonly task: string;
  /** The version that the task's own file states. */
  readonly taskVersion: string;
  /** SHA-256 over the harness's prompt hashes, in the order of problems; empty without samples. */
  readonly promptHash: string;
  readonly fewshot: number;
  /** As `--seed` of the harness takes it: `0,1234,1234,1234`. */
  readonly seed: string;
  /** The rows that were asked for, the first and the one after the last; null for all of the task's. */
  readonly rows: readonly [from: number, to: number] | null;
  /** The most tokens of an answer that were asked for; null for the task's own number. */
  readonly maxTokens: number | null;
  /** `hf`, `vllm`, `local-completions`, …, with the arguments that may change what a model answers. */
  readonly backend: string;
}

/** One model's result in one task: a file in `evaluations/` of an experiment's directory. */
export interface EvaluationResult extends ResultIdentity {
  /** The version that wrote the file. */
  readonly layerloom: string;
  /** The name of the model that was scored; others of the same weights have the same result. */
  readonly model: string;
  readonly harness: { readonly name: 'lm-eval'; readonly version: string };
  /** The harness's own figures, by `metric,filter`; standard errors by `metric_stderr,filter`. Null: not stated. */
  readonly metrics: Readonly<Record<string, number | null>>;
  /** By metric, without filter. */
  readonly higherIsBetter: Readonly<Record<string, boolean>>;
  /** The number of problems. */
  readonly n: number;
  /** In the order of rows. Empty if the result was imported without samples. */
  readonly problems: readonly ProblemResult[];
  /** Name of the file in `evaluations/` that has the texts of the problems, by document hash. */
  readonly texts: string | null;
  readonly source: 'run' | 'imported';
  /** ISO 8601. */
  readonly started: string;
  readonly seconds: number;
}

/** The texts of a task's problems, by document hash; results of many models share one such file. */
export type ProblemTexts = Readonly<Record<string, { readonly question: string; readonly target: string }>>;

/** A model's score in one task, as `experiment.json` has it. */
export interface Score {
  readonly taskVersion: string;
  readonly fewshot: number;
  readonly n: number;
  readonly rows: readonly [from: number, to: number] | null;
  /** The most tokens of an answer that were asked for; absent for the task's own number. */
  readonly maxTokens?: number;
  readonly metrics: Readonly<Record<string, number | null>>;
  /** The metric that the task is judged by, as `metric,filter`; records of earlier versions do not say it. */
  readonly headline?: string;
  /** Path of the result's file, relative to the experiment's directory. */
  readonly result: string;
}

/** Scores by the harness's name of the task. */
export type Scores = Readonly<Record<string, Score>>;
