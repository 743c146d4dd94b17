import { checkCount, checkTexts } from './checks.js';

/** An experiment and the jobs that it is divided among: what all schedulers are told. */
export interface JobParameters {
  /** Absolute path of the experiment's file where the jobs run, on a file system that all of them share. */
  readonly experiment: string;
  /** Absolute path of the output directory, likewise shared. */
  readonly out: string;
  /** Absolute path of the store; by default that of `layerloom batch`. */
  readonly store?: string | undefined;
  /** Number of jobs that the work is divided among; default 8. */
  readonly parts?: number | undefined;
  /** CPUs of each job, and the number of its threads. */
  readonly cpus?: number | undefined;
  /** The command that runs layerloom where the jobs run; default `['layerloom']`. */
  readonly command?: readonly string[] | undefined;
  /**
   * The stamp that `planExperiment` gives. Jobs then refuse to run by another version of layerloom, or on
   * another text of the experiment.
   */
  readonly stamp?: string | undefined;
}

/** The jobs that score the models, as all schedulers are told of them. */
export interface EvaluationJobs {
  /** Number of jobs that the models are divided among. Default: the number of parts. */
  readonly parts?: number | undefined;
  /** GPUs of each job; default 1, and 0 asks for none. */
  readonly gpus?: number | undefined;
  /** The harness's command, as `layerloom evaluate --lm-eval` takes it. */
  readonly lmEval?: string | undefined;
  /** Let the jobs run the commands of `evaluate:` (`serve`, `arguments`), whoever runs them. Default false. */
  readonly allowServe?: boolean | undefined;
}

/** Jobs that run one command: alone, or each with `partOption INDEX/count`. */
export interface Job {
  readonly words: readonly string[];
  readonly count: number;
}

/** The jobs of an experiment, in the order in which they must end. */
export interface Jobs {
  /** Make the shards, part by part. Their words end with the option that a part follows. */
  readonly parts: Job;
  /** Makes what the parts left, and the merges. */
  readonly last: Job;
  /** Score the models, part by part. Their words end as those of `parts`. */
  readonly evaluation: (Job & { readonly gpus: number }) | undefined;
}

/**
 * Returns the jobs of an experiment as data, which each scheduler's writer spells in its own way.
 *
 * @throws LayerloomError INVALID_PARAMETER for counts below 1, empty texts, and control characters, which
 *   cannot be quoted safely
 */
export const jobsOf = (
  { experiment, out, store, parts = 8, cpus, command = ['layerloom'], stamp }: JobParameters,
  evaluation: EvaluationJobs | undefined,
): Jobs => {
  checkCount('parts', parts);
  if (cpus !== undefined) checkCount('cpus', cpus);
  checkTexts({ experiment, out, store, command: command.join(' '), stamp });
  const expected = stamp === undefined ? [] : ['--expect', stamp];
  const batch = [
    ...[...command, 'batch', experiment, '-o', out],
    ...(store === undefined ? [] : ['--store', store]),
    ...(cpus === undefined ? [] : ['-j', String(cpus)]),
    ...expected,
  ];
  return {
    parts: { words: [...batch, '--shard-range'], count: parts },
    last: { words: [...batch, '--resume'], count: 1 },
    evaluation:
      evaluation &&
      evaluationJob({ ...evaluation, parts: evaluation.parts ?? parts }, [
        ...[...command, 'evaluate', out],
        ...expected,
      ]),
  };
};

const evaluationJob = (
  { parts, gpus = 1, lmEval, allowServe = false }: EvaluationJobs & { readonly parts: number },
  evaluate: readonly string[],
): Job & { readonly gpus: number } => {
  checkCount('evaluate-parts', parts);
  checkCount('gpus', gpus, 0);
  checkTexts({ 'lm-eval': lmEval });
  const harness = lmEval === undefined ? [] : ['--lm-eval', lmEval];
  const allowed = allowServe ? ['--allow-serve'] : [];
  return { words: [...evaluate, ...harness, ...allowed, '--part'], count: parts, gpus };
};
