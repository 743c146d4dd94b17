import { command } from '../framework/command.js';
import { option } from '../framework/option.js';
import {
  evaluationOptions,
  experimentFile,
  jobOptions,
  ownEvaluationOptions,
  slurmEvaluationOptions,
} from '../options/scheduling.js';

export const slurm = command({
  name: 'slurm',
  summary: 'print a script that submits an experiment to SLURM, in parts',
  arguments: { experiment: experimentFile },
  options: {
    ...jobOptions,
    partition: option('--partition <name>', 'partition to submit to'),
    account: option('--account <name>', 'account to charge the jobs to'),
    qos: option('--qos <name>', 'quality of service'),
    directives: option('--directive <option>', 'a further option of sbatch, such as --constraint=a100', {
      repeatable: true,
    }),
    ...evaluationOptions,
    ...slurmEvaluationOptions,
    evaluateDirectives: ownEvaluationOptions.evaluateDirectives,
  },
  examples: [
    ['layerloom experiment slurm study.yaml --parts 16 --time 02:00:00 > submit.sh', 'merges in 16 jobs'],
    [
      'layerloom experiment slurm study.yaml --evaluate --gpus 1 --evaluate-partition gpu > submit.sh',
      'score the models too, on another partition',
    ],
  ],
  run: async (given) => {
    const { experimentSlurmCommand } = await import('../work/schedulers.js');
    await experimentSlurmCommand(given);
  },
});
