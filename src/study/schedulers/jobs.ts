import { join } from 'node:path/posix';
import { checkCount, checkTexts } from './checks.js';

/** What all schedulers are told of any work. */
interface CommonParameters {
  /** CPUs of each job; a job that merges has as many threads. */
  readonly cpus?: number | undefined;
  /** The command that runs layerloom where the jobs run; default `['layerloom']`. */
  readonly command?: readonly string[] | undefined;
}

/** An experiment and the jobs that it is divided among: what all schedulers are told. */
export interface JobParameters extends CommonParameters {
  /** Absolute path of the experiment's file where the jobs run, on a file system that all of them share. */
  readonly experiment: string;
  /** Absolute path of the output directory, likewise shared. */
  readonly out: string;
  /** Absolute path of the store; by default that of `layerloom batch`. */
  readonly store?: string | undefined;
  /** Number of jobs that the work is divided among; default 8. */
  readonly parts?: number | undefined;
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

/** The runs of a training and the jobs that they are divided among: what all schedulers are told. */
export interface TrainingJobParameters extends CommonParameters {
  /** Absolute path of a directory of `trainInit` where the jobs run, on a file system that all of them share. */
  readonly training: string;
  /** Number of jobs that the runs are divided among; of more jobs than runs, some have nothing to do. */
  readonly parts: number;
  /** GPUs of each job that trains; default 1, and 0 asks for none. */
  readonly gpus?: number | undefined;
  /** Trainings are scored by an experiment of their checkpoints. */
  readonly evaluation?: undefined;
}

/** Jobs that run one command: alone, or each with `INDEX/count` behind its words. */
export interface Job {
  readonly words: readonly string[];
  readonly count: number;
  /** GPUs of each. */
  readonly gpus: number;
}

/** The jobs of an experiment or a training, in the order in which they must end. */
export interface Jobs {
  /** The file that says what there is to do: without it no job can run. */
  readonly file: string;
  /** The directory of the results. Logs and markers lie beside it. */
  readonly out: string;
  /** The file that the last job writes, and a rerun must not lose; undefined if it writes none. */
  readonly record: string | undefined;
  /** All paths that the jobs are given, by the names of their parameters. */
  readonly paths: Readonly<Record<string, string | undefined>>;
  /** For comments. */
  readonly about: {
    /** What the jobs run: a path. */
    readonly subject: string;
    /** What must lie where every job sees it. */
    readonly shared: string;
    /** What the last job does, behind "a job that". */
    readonly last: string;
  };
  /** Make the shards or train the runs, part by part. */
  readonly parts: Job;
  /** Makes what the parts left, and the merges; or says which runs are there. */
  readonly last: Job;
  /** Score the models, part by part. */
  readonly evaluation: Job | undefined;
}

/**
 * Returns the jobs of an experiment or a training as data, which each scheduler's writer spells in its own way.
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
