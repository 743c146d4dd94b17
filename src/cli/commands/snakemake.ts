import { command } from '../framework/command.js';
import {
  evaluationOptions,
  experimentFile,
  jobOptions,
  slurmEvaluationOptions,
  snakemakeOptions,
  trainingDirectory,
  trainingJobOptions,
} from '../options/scheduling.js';

export const snakemake = command({
  name: 'snakemake',
  summary: 'print a workflow for Snakemake, which runs it on clusters and clouds',
  arguments: { experiment: experimentFile },
  options: { ...jobOptions, ...snakemakeOptions, ...evaluationOptions, ...slurmEvaluationOptions },
  examples: [
    ['layerloom experiment snakemake study.yaml --parts 16 --evaluate > Snakefile', 'merge and score'],
    [
      'layerloom experiment snakemake study.yaml --cpus 8 --memory 32G --time 02:00:00 > Snakefile',
      "with limits, in sbatch's notation",
    ],
  ],
  run: async (given) => (await import('../work/studies/schedulers.js')).experimentSnakemakeCommand(given),
});

export const trainSnakemake = command({
  name: 'snakemake',
  summary: 'print a Snakemake workflow for the runs',
  arguments: { directory: trainingDirectory },
  options: { ...trainingJobOptions, ...snakemakeOptions },
  examples: [
    ['layerloom train snakemake ./train-math --memory 64G > Snakefile', 'a job for each run'],
    ['layerloom train snakemake ./train-math --parts 2 --retries 0 > Snakefile', 'two jobs, each tried once'],
  ],
  run: async (given) => (await import('../work/studies/schedulers.js')).trainSnakemakeCommand(given),
});
