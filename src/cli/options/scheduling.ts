import { argument } from '../framework/command.js';
import { option } from '../framework/option.js';
import { toNumber } from './parse.js';

// Options of commands that print the jobs of an experiment.

const group = 'Jobs that score:';

export const experimentFile = argument('<experiment>', 'a YAML file');

/** What the jobs of every scheduler have. */
export const jobOptions = {
  out: option('-o, --out <dir>', 'directory for the merges', {
    default: "the file's name without its ending",
  }),
  store: option('--store <dir>', 'directory of the shards that merges share', {
    default: '.store in the output',
  }),
  parts: option('--parts <n>', 'number of jobs to divide the work among', { parse: toNumber, default: '8' }),
  time: option('--time <time>', 'time limit of each job, in the format of sbatch: 02:00:00'),
  cpus: option('--cpus <n>', 'processors, and worker threads, of each job', { parse: toNumber }),
  memory: option('--memory <size>', 'memory of each job, in the format of sbatch: 32G'),
};

/** What evaluations of every scheduler have. */
export const evaluationOptions = {
  evaluate: option('--evaluate', 'also score the models, after the merges', { group }),
  evaluateParts: option('--evaluate-parts <n>', 'number of jobs to divide the models among', {
    parse: toNumber,
    default: '--parts',
    group,
  }),
  gpus: option('--gpus <n>', 'GPUs of each job', { parse: toNumber, default: '1', group }),
  evaluateTime: option('--evaluate-time <time>', 'time limit of each job', { default: '--time', group }),
  lmEval: option('--lm-eval <command>', 'the command of lm-evaluation-harness on the nodes', {
    default: 'lm_eval',
    group,
  }),
};

/** What SLURM is told of evaluations. */
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

/** Further options of evaluations, which one scheduler alone has. */
export const ownEvaluationOptions = {
  evaluateDirectives: option('--evaluate-directive <option>', 'as --directive; replaces all of them', {
    repeatable: true,
    default: '--directive',
    group,
  }),
  evaluateImage: option('--evaluate-image <image>', 'image that has layerloom and lm-evaluation-harness', {
    default: '--image',
    group,
  }),
};
