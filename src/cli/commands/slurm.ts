import { command } from '../framework/command.js';
import {
  evaluationOptions,
  experimentFile,
  jobOptions,
  ownEvaluationOptions,
  slurmEvaluationOptions,
  slurmOptions,
  trainingDirectory,
  trainingJobOptions,
} from '../options/scheduling.js';

export const slurm = command({
  name: 'slurm',
  summary: 'print a script that submits an experiment to SLURM, in parts',
  arguments: { experiment: experimentFile },
  options: {
    ...jobOptions,
    ...slurmOptions,
    ...evaluationOptions,
    ...slurmEvaluationOptions,
    evaluateDirectives: ownEvaluationOptions.evaluateDirectives,
  },
  examples: [
    ['layerloom experiment slurm study.yaml --parts 16 --time 02:00:00 > submit.sh', 'merge in 16 jobs'],
    [
      'layerloom experiment slurm study.yaml --evaluate --gpus 1 --evaluate-partition gpu > submit.sh',
      'score the models too, on another partition',
    ],
  ],
  run: async (given) => (await import('../work/studies/schedulers.js')).experimentSlurmCommand(given),
});

export const trainSlurm = command({
  name: 'slurm',
  summary: 'print a script that submits the runs to SLURM, in parts',
  arguments: { directory: trainingDirectory },
  options: { ...trainingJobOptions, ...slurmOptions },
  examples: [
    ['layerloom train slurm ./train-math --time 12:00:00 > submit.sh', 'a job for each run'],
    ['layerloom train slurm ./train-math --parts 2 --partition gpu > submit.sh', 'two jobs, on a partition'],
  ],
  run: async (given) => (await import('../work/studies/schedulers.js')).trainSlurmCommand(given),
});
