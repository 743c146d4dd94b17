import { argument } from '../framework/command.js';
import { option } from '../framework/option.js';
import { numberOption } from './usual-options.js';

const group = 'Jobs that score:';

export const experimentFile = argument('<experiment>', 'a YAML file');

export const trainingDirectory = argument('<dir>', 'a directory of layerloom train init');

const limitOptions = {
  time: option('--time <time>', 'time limit of each job, in the notation of sbatch: 02:00:00'),
  memory: option('--memory <size>', 'memory of each job, in the notation of sbatch: 32G'),
};

export const jobOptions = {
  out: option('-o, --out <dir>', 'directory for the merges', {
    default: "the file's name without its ending",
  }),
  store: option('--store <dir>', 'directory of the shards that merges share', {
    default: '.store in the output',
  }),
  parts: numberOption('--parts <n>', 'number of jobs among which the work is divided', '8'),
  cpus: numberOption('--cpus <n>', 'processors of each job, and worker threads'),
  ...limitOptions,
};

export const trainingJobOptions = {
  parts: numberOption('--parts <n>', 'number of jobs among which the runs are divided', 'the number of runs'),
  gpus: numberOption('--gpus <n>', 'GPUs of each training job', 'the number for which the runs were written'),
  cpus: numberOption('--cpus <n>', 'processors of each job'),
  ...limitOptions,
};

export const slurmOptions = {
  partition: option('--partition <name>', 'partition to submit to'),
  account: option('--account <name>', 'account to charge the jobs to'),
  qos: option('--qos <name>', 'quality of service'),
  directives: option('--directive <option>', 'another option of sbatch, such as --constraint=a100', {
    repeatable: true,
  }),
};

export const snakemakeOptions = {
  retries: numberOption('--retries <n>', 'number of times that a failed job is retried', '2'),
  partition: option('--partition <name>', 'partition of SLURM (slurm_partition)'),
  account: option('--account <name>', 'account of SLURM (slurm_account)'),
  qos: option('--qos <name>', 'quality of service of SLURM (qos)'),
};

export const kubernetesOptions = {
  volumes: option(
    '--volume <claim=path>',
    'persistent volume claim, and its path inside pods; CLAIM=PATH:ro is read-only',
    { repeatable: true },
  ),
  command: option('--command <command>', 'command of layerloom in the image', { default: 'layerloom' }),
  name: option('--name <name>', "first part of the jobs' names", {
    default: 'layerloom- and the name of the output',
  }),
  namespace: option('--namespace <name>', 'namespace of the jobs', { default: "kubectl's" }),
};

export const evaluationOptions = {
  evaluate: option('--evaluate', 'also score the models, after the merges', { group }),
  evaluateParts: numberOption(
    '--evaluate-parts <n>',
    'number of jobs among which the models are divided',
    '--parts',
    group,
  ),
  gpus: numberOption('--gpus <n>', 'GPUs of each job', '1', group),
  evaluateTime: option('--evaluate-time <time>', 'time limit of each job', { default: '--time', group }),
  lmEval: option('--lm-eval <command>', 'the command of lm-evaluation-harness on the nodes', {
    default: 'lm_eval',
    group,
  }),
};

export const slurmEvaluationOptions = {
  evaluatePartition: option('--evaluate-partition <name>', 'partition to submit to', {
    default: '--partition',
    group,
  }),
  evaluateAccount: option('--evaluate-account <name>', 'account to charge the jobs to', {
    default: '--account',
    group,
  }),
  evaluateQos: option('--evaluate-qos <name>', 'quality of service', { default: '--qos', group }),
};

export const ownEvaluationOptions = {
  evaluateDirectives: option(
    '--evaluate-directive <option>',
    'like --directive, for scoring jobs; replaces all of them',
    {
      repeatable: true,
      default: '--directive',
      group,
    },
  ),
  evaluateImage: option(
    '--evaluate-image <image>',
    'image that contains layerloom and lm-evaluation-harness',
    {
      default: '--image',
      group,
    },
  ),
};
