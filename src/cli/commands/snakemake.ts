import { command } from '../framework/command.js';
import { option } from '../framework/option.js';
import { toNumber } from '../options/parse.js';
import {
  evaluationOptions,
  experimentFile,
  jobOptions,
  slurmEvaluationOptions,
} from '../options/scheduling.js';

export const snakemake = command({
  name: 'snakemake',
  summary: 'print a workflow for Snakemake, whose executors run it on clusters and clouds',
  arguments: { experiment: experimentFile },
  options: {
    ...jobOptions,
    retries: option('--retries <n>', 'times that a failed job is run again', {
      parse: toNumber,
      default: '2',
    }),
    partition: option('--partition <name>', 'partition of SLURM (slurm_partition)'),
    account: option('--account <name>', 'account of SLURM (slurm_account)'),
    qos: option('--qos <name>', 'quality of service of SLURM (qos)'),
    ...evaluationOptions,
    ...slurmEvaluationOptions,
  },
  examples: [
    ['layerloom experiment snakemake study.yaml --parts 16 --evaluate > Snakefile', 'merge and score'],
    [
      'layerloom experiment snakemake study.yaml --cpus 8 --memory 32G --time 02:00:00 > Snakefile',
      'with limits, as sbatch spells them',
    ],
  ],
  run: async (given) => {
    const { experimentSnakemakeCommand } = await import('../work/schedulers.js');
    await experimentSnakemakeCommand(given);
  },
});
