import { join } from 'node:path/posix';
import { checkCount, checkTexts } from './checks.js';

interface CommonParameters {
  /** CPUs per job. A merging job uses as many threads. */
  readonly cpus?: number | undefined;
  /** Command that runs layerloom in jobs; default `['layerloom']`. */
  readonly command?: readonly string[] | undefined;
}

/** An experiment and how to divide it among jobs. */
export interface JobParameters extends CommonParameters {
  /** Absolute path of the experiment's file, visible to all jobs. */
  readonly experiment: string;
  /** Absolute path of the output directory, visible to all jobs. */
  readonly out: string;
  /** Absolute path of the store; default as in `layerloom batch`. */
  readonly store?: string | undefined;
  /** Number of jobs; default 8. */
  readonly parts?: number | undefined;
  /** Stamp from `planExperiment`. Jobs refuse to run if layerloom's version or the experiment differs. */
  readonly stamp?: string | undefined;
}

/** Settings of scoring jobs. */
export interface EvaluationJobs {
  /** Number of jobs; default as for merging. */
  readonly parts?: number | undefined;
  /** GPUs per job; default 1; 0 requests none. */
  readonly gpus?: number | undefined;
  /** Harness's command, as in `layerloom evaluate --lm-eval`. */
  readonly lmEval?: string | undefined;
  /** Let jobs run the commands of `evaluate:` (`serve`, `arguments`) in any folder; default false. */
  readonly allowServe?: boolean | undefined;
}

/** Training runs and how to divide them among jobs. */
export interface TrainingJobParameters extends CommonParameters {
  /** Absolute path of a directory of `trainInit`, visible to all jobs. */
  readonly training: string;
  /** Number of jobs; jobs beyond the number of runs do nothing. */
  readonly parts: number;
  /** GPUs per job; default 1; 0 requests none. */
  readonly gpus?: number | undefined;
  /** Never set: an experiment with the checkpoints scores them. */
  readonly evaluation?: undefined;
}

/** Limits that scoring jobs may override. */
export interface SlurmLimits {
  /** Time limit, in sbatch's notation: `02:00:00`. */
  readonly time?: string | undefined;
  readonly partition?: string | undefined;
  readonly account?: string | undefined;
  readonly qos?: string | undefined;
}

export interface JobLimits extends SlurmLimits {
  readonly cpus?: number | undefined;
  readonly memory?: string | undefined;
  readonly directives?: readonly string[] | undefined;
  readonly image?: string | undefined;
}

export interface Job {
  readonly name: 'parts' | 'last' | 'evaluate';
  readonly words: readonly string[];
  readonly count: number;
  /** Append `INDEX/count` to the words. */
  readonly isArray: boolean;
  readonly gpus: number;
  readonly limits: JobLimits;
  /** Prefix of limits' names in messages. */
  readonly prefix: string;
}

export interface Jobs {
  /** Input file that all jobs need. */
  readonly file: string;
  /** Output directory, with logs and markers beside it. */
  readonly out: string;
  /** Record that the last job writes. A rerun must keep it. */
  readonly record: string | undefined;
  readonly paths: Readonly<Record<string, string | undefined>>;
  /** Words for comments in generated files. */
  readonly about: {
    /** Experiment's file, or the training's directory. */
    readonly subject: string;
    /** Paths that every job must see. */
    readonly shared: string;
    /** Completes the phrase "a last job that …". */
    readonly last: string;
  };
  /** Each job starts after the previous one ends. */
  readonly jobs: readonly [parts: Job, last: Job, evaluation?: Job];
}

type TrainingParameters = TrainingJobParameters & JobLimits;
type ExperimentParameters = JobParameters &
  JobLimits & { readonly evaluation?: (EvaluationJobs & JobLimits) | undefined };

/**
 * Describes jobs as data that each scheduler's writer formats.
 *
 * @throws INVALID_PARAMETER for counts below 1, empty texts, and control characters, which cannot be quoted
 * safely
 */
export const jobsOf = (parameters: ExperimentParameters | TrainingParameters): Jobs => {
  if (parameters.cpus !== undefined) checkCount('cpus', parameters.cpus);
  const { command = ['layerloom'] } = parameters;
  checkTexts({ command: command.join(' ') });
  return 'training' in parameters ? trainingJobs(parameters, command) : experimentJobs(parameters, command);
};

const jobOf = (
  name: Job['name'],
  words: readonly string[],
  limits: JobLimits,
  { count = 1, gpus = 0 }: { readonly count?: number; readonly gpus?: number } = {},
): Job => {
  const prefix = name === 'evaluate' ? 'evaluate-' : '';
  checkCount(`${prefix}parts`, count);
  checkCount('gpus', gpus, 0);
  return { name, words, count, isArray: name !== 'last', gpus, limits, prefix };
};

const experimentJobs = (
  { experiment, out, store, parts: count = 8, stamp, evaluation, ...limits }: ExperimentParameters,
  command: readonly string[],
): Jobs => {
  checkTexts({ experiment, out, store, stamp, 'lm-eval': evaluation?.lmEval });
  const expected = stamp === undefined ? [] : ['--expect', stamp];
  const batch = [
    ...[...command, 'batch', experiment, '-o', out],
    ...(store === undefined ? [] : ['--store', store]),
    ...(limits.cpus === undefined ? [] : ['-j', String(limits.cpus)]),
    ...expected,
  ];
  const parts = jobOf('parts', [...batch, '--part'], limits, { count });
  const last = jobOf('last', [...batch, '--resume'], limits);
  const scoring = () => {
    const { parts: own = count, gpus = 1, lmEval, allowServe = false, ...given } = evaluation ?? {};
    const words = [
      ...[...command, 'evaluate', out, ...expected],
      ...(lmEval === undefined ? [] : ['--lm-eval', lmEval]),
      ...(allowServe ? ['--allow-serve', '--part'] : ['--part']),
    ];
    const overriding = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    return jobOf('evaluate', words, { ...limits, ...overriding }, { count: own, gpus });
  };
  return {
    file: experiment,
    out,
    record: join(out, 'experiment.json'),
    paths: { experiment, out, store },
    about: {
      subject: experiment,
      shared: 'The experiment, its models, the output and the store',
      last: 'makes missing shards and the merges',
    },
    jobs: evaluation === undefined ? [parts, last] : [parts, last, scoring()],
  };
};

const trainingJobs = (
  { training, parts: count, gpus = 1, ...limits }: TrainingParameters,
  command: readonly string[],
): Jobs => {
  checkTexts({ training });
  return {
    file: join(training, 'training.json'),
    out: training.replace(/\/+$/, ''),
    record: undefined,
    paths: { training },
    about: {
      subject: training,
      shared: 'The directory, the base, its data and the Python of the trainer',
      last: 'reports which runs exist',
    },
    jobs: [
      jobOf('parts', ['bash', join(training, 'train.sh')], limits, { count, gpus }),
      jobOf('last', [...command, 'train', 'status', training], limits),
    ],
  };
};
