import { join } from 'node:path/posix';
import { checkCount, checkTexts } from './checks.js';

interface CommonParameters {
  /** CPUs of each job; a merging job has as many threads. */
  readonly cpus?: number | undefined;
  /** The command that runs layerloom in the jobs; default `['layerloom']`. */
  readonly command?: readonly string[] | undefined;
}

/** An experiment, and how to divide it among jobs. */
export interface JobParameters extends CommonParameters {
  /** Absolute path of the experiment's file in the jobs, on a file system that all share. */
  readonly experiment: string;
  /** Absolute path of the output directory, also shared. */
  readonly out: string;
  /** Absolute path of the store; by default that of `layerloom batch`. */
  readonly store?: string | undefined;
  /** Number of jobs; default 8. */
  readonly parts?: number | undefined;
  /**
   * The stamp from `planExperiment`. Jobs then refuse to run with another version of layerloom or text of the
   * experiment.
   */
  readonly stamp?: string | undefined;
}

/** The scoring jobs. */
export interface EvaluationJobs {
  /** Number of jobs; default: that of the parts. */
  readonly parts?: number | undefined;
  /** GPUs of each job; default 1; 0 requests none. */
  readonly gpus?: number | undefined;
  /** The harness's command, as in `layerloom evaluate --lm-eval`. */
  readonly lmEval?: string | undefined;
  /**
   * Let the jobs run the commands of `evaluate:` (`serve`, `arguments`), whoever runs them. Default false.
   */
  readonly allowServe?: boolean | undefined;
}

/** The runs of a training, and how to divide them among jobs. */
export interface TrainingJobParameters extends CommonParameters {
  /** Absolute path of a `trainInit` directory in the jobs, on a file system that all share. */
  readonly training: string;
  /** Number of jobs. Jobs beyond the number of runs do nothing. */
  readonly parts: number;
  /** GPUs of each training job; default 1; 0 requests none. */
  readonly gpus?: number | undefined;
  /** Trainings are scored by an experiment of their checkpoints. */
  readonly evaluation?: undefined;
}

/** Jobs of one command: a single one, or `count` jobs, each with `INDEX/count` appended. */
export interface Job {
  readonly words: readonly string[];
  readonly count: number;
  /** GPUs of each job. */
  readonly gpus: number;
}

/** The jobs of an experiment or a training, in the order in which they must end. */
export interface Jobs {
  /** The input file; no job can run without it. */
  readonly file: string;
  /** The output directory; logs and markers are beside it. */
  readonly out: string;
  /** The file that the last job writes and a rerun must not lose, if any. */
  readonly record: string | undefined;
  /** All paths given to the jobs, by parameter name. */
  readonly paths: Readonly<Record<string, string | undefined>>;
  /** Words for comments in the written files. */
  readonly about: {
    /** The experiment's file, or the training's directory. */
    readonly subject: string;
    /** Paths that every job must see. */
    readonly shared: string;
    /** The last job's work; ends the phrase "a last job that …". */
    readonly last: string;
  };
  /** Make the shards or train the runs, part by part. */
  readonly parts: Job;
  /** Makes what the parts left, and the merges; for a training, reports the existing runs. */
  readonly last: Job;
  /** Score the models, part by part. */
  readonly evaluation: Job | undefined;
}

/**
 * Returns the jobs of an experiment or a training as data, for each scheduler's writer to format.
 *
 * @throws LayerloomError INVALID_PARAMETER for counts below 1, empty texts, and control characters, which
 *   cannot be quoted safely
 */
export const jobsOf = (
  parameters: JobParameters | TrainingJobParameters,
  evaluation: EvaluationJobs | undefined,
): Jobs => {
  if (parameters.cpus !== undefined) checkCount('cpus', parameters.cpus);
  return 'training' in parameters ? trainingJobs(parameters) : experimentJobs(parameters, evaluation);
};

const experimentJobs = (
  { experiment, out, store, parts = 8, cpus, command = ['layerloom'], stamp }: JobParameters,
  evaluation: EvaluationJobs | undefined,
): Jobs => {
  checkCount('parts', parts);
  checkTexts({ experiment, out, store, command: command.join(' '), stamp });
  const expected = stamp === undefined ? [] : ['--expect', stamp];
  const batch = [
    ...[...command, 'batch', experiment, '-o', out],
    ...(store === undefined ? [] : ['--store', store]),
    ...(cpus === undefined ? [] : ['-j', String(cpus)]),
    ...expected,
  ];
  return {
    file: experiment,
    out,
    record: join(out, 'experiment.json'),
    paths: { experiment, out, store },
    about: {
      subject: experiment,
      shared: 'The experiment, its models, the output and the store',
      last: 'makes what they left',
    },
    parts: { words: [...batch, '--shard-range'], count: parts, gpus: 0 },
    last: { words: [...batch, '--resume'], count: 1, gpus: 0 },
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
): Job => {
  checkCount('evaluate-parts', parts);
  checkCount('gpus', gpus, 0);
  checkTexts({ 'lm-eval': lmEval });
  const harness = lmEval === undefined ? [] : ['--lm-eval', lmEval];
  const allowed = allowServe ? ['--allow-serve'] : [];
  return { words: [...evaluate, ...harness, ...allowed, '--part'], count: parts, gpus };
};

const trainingJobs = ({
  training,
  parts,
  gpus = 1,
  command = ['layerloom'],
}: TrainingJobParameters): Jobs => {
  checkCount('parts', parts);
  checkCount('gpus', gpus, 0);
  checkTexts({ training, command: command.join(' ') });
  return {
    file: join(training, 'training.json'),
    out: training.replace(/\/+$/, ''),
    record: undefined,
    paths: { training },
    about: {
      subject: training,
      shared: 'The directory, the base, its data and the Python of the trainer',
      last: 'says which runs are there',
    },
    parts: { words: ['bash', join(training, 'train.sh')], count: parts, gpus },
    last: { words: [...command, 'train', 'status', training], count: 1, gpus: 0 },
    evaluation: undefined,
  };
};
