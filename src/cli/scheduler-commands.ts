import type { Command } from 'commander';
import { addExamples, optionOf } from './help.js';
import { addOutputOptions, toNumber } from './options.js';
import type {
  ExperimentKubernetesOptions,
  ExperimentSlurmOptions,
  ExperimentSnakemakeOptions,
} from './schedulers.js';

// Commands that print the jobs of an experiment: their options. Their work is loaded when one is called.

const scoring = 'Jobs that score:';

/** Adds `layerloom experiment slurm`. */
export const addSlurm = (experiment: Command): void => {
  const slurm = addJobs(
    experiment.command('slurm').description('print a script that submits an experiment to SLURM, in parts'),
  )
    .addOption(optionOf('--partition <name>', 'partition to submit to'))
    .addOption(optionOf('--account <name>', 'account to charge the jobs to'))
    .addOption(optionOf('--qos <name>', 'quality of service'))
    .addOption(
      optionOf('--directive <option>', 'a further option of sbatch, such as --constraint=a100', {
        repeatable: true,
      }),
    );
  addEvaluations(slurm);
  addSlurmEvaluations(slurm).addOption(
    optionOf('--evaluate-directive <option>', 'as --directive; replaces all of them', {
      repeatable: true,
      default: '--directive',
      group: scoring,
    }),
  );
  addOutputOptions(slurm).action(async (file: string, options: ExperimentSlurmOptions) => {
    const { experimentSlurmCommand } = await import('./schedulers.js');
    await experimentSlurmCommand(file, options);
  });
  addExamples(slurm, [
    ['layerloom experiment slurm study.yaml --parts 16 --time 02:00:00 > submit.sh', 'merges in 16 jobs'],
    [
      'layerloom experiment slurm study.yaml --evaluate --gpus 1 --evaluate-partition gpu > submit.sh',
      'score the models too, on another partition',
    ],
  ]);
};

/** Adds `layerloom experiment snakemake`. */
export const addSnakemake = (experiment: Command): void => {
  const snakemake = addJobs(
    experiment
      .command('snakemake')
      .description('print a workflow for Snakemake, whose executors run it on clusters and clouds'),
  )
    .addOption(
      optionOf('--retries <n>', 'times that a failed job is run again', { parse: toNumber, default: '2' }),
    )
    .addOption(optionOf('--partition <name>', 'partition of SLURM (slurm_partition)'))
    .addOption(optionOf('--account <name>', 'account of SLURM (slurm_account)'))
    .addOption(optionOf('--qos <name>', 'quality of service of SLURM (qos)'));
  addSlurmEvaluations(addEvaluations(snakemake));
  addOutputOptions(snakemake).action(async (file: string, options: ExperimentSnakemakeOptions) => {
    const { experimentSnakemakeCommand } = await import('./schedulers.js');
    await experimentSnakemakeCommand(file, options);
  });
  addExamples(snakemake, [
    ['layerloom experiment snakemake study.yaml --parts 16 --evaluate > Snakefile', 'merge and score'],
    [
      'layerloom experiment snakemake study.yaml --cpus 8 --memory 32G --time 02:00:00 > Snakefile',
      'with limits, as sbatch spells them',
    ],
  ]);
};

/** Adds `layerloom experiment kubernetes`. */
export const addKubernetes = (experiment: Command): void => {
  const kubernetes = addJobs(
    experiment.command('kubernetes').description('print a manifest of Jobs for Kubernetes, in parts'),
  )
    .addOption(optionOf('--image <image>', 'image that has layerloom', { required: true }))
    .addOption(
      optionOf(
        '--volume <claim=path>',
        'persistent volume claim, and where pods see it; CLAIM=PATH:ro is read-only',
        { repeatable: true },
      ),
    )
    .addOption(
      optionOf('--experiment-path <path>', "the experiment's file, as pods see it", {
        default: 'its path here',
      }),
    )
    .addOption(optionOf('--command <command>', 'command of layerloom in the image', { default: 'layerloom' }))
    .addOption(
      optionOf('--name <name>', "first part of the jobs' names", { default: 'layerloom- and the output' }),
    )
    .addOption(optionOf('--namespace <name>', 'namespace of the jobs', { default: "kubectl's" }));
  addEvaluations(kubernetes).addOption(
    optionOf('--evaluate-image <image>', 'image that has layerloom and lm-evaluation-harness', {
      default: '--image',
      group: scoring,
    }),
  );
  addOutputOptions(kubernetes).action(async (file: string, options: ExperimentKubernetesOptions) => {
    const { experimentKubernetesCommand } = await import('./schedulers.js');
    await experimentKubernetesCommand(file, options);
  });
  addExamples(kubernetes, [
    [
      'layerloom experiment kubernetes study.yaml --image registry/layerloom --volume models=/data --experiment-path /data/study.yaml -o /data/study > jobs.yaml',
      'merge on the volume of the claim models',
    ],
    [
      'layerloom experiment kubernetes study.yaml --image registry/layerloom --volume models=/data --experiment-path /data/study.yaml -o /data/study --evaluate --gpus 1 > jobs.yaml',
      'score the models too, each pod on one GPU',
    ],
  ]);
};

/** Adds what the jobs of every scheduler have. */
const addJobs = (command: Command): Command =>
  command
    .argument('<experiment>', 'a YAML file')
    .addOption(
      optionOf('-o, --out <dir>', 'directory for the merges', {
        default: "the file's name without its ending",
      }),
    )
    .addOption(
      optionOf('--store <dir>', 'directory of the shards that merges share', {
        default: '.store in the output',
      }),
    )
    .addOption(
      optionOf('--parts <n>', 'number of jobs to divide the work among', { parse: toNumber, default: '8' }),
    )
    .addOption(optionOf('--time <time>', 'time limit of each job, in the format of sbatch: 02:00:00'))
    .addOption(optionOf('--cpus <n>', 'processors, and worker threads, of each job', { parse: toNumber }))
    .addOption(optionOf('--memory <size>', 'memory of each job, in the format of sbatch: 32G'));

/** Adds what evaluations of every scheduler have. */
const addEvaluations = (command: Command): Command =>
  command
    .addOption(optionOf('--evaluate', 'also score the models, after the merges', { group: scoring }))
    .addOption(
      optionOf('--evaluate-parts <n>', 'number of jobs to divide the models among', {
        parse: toNumber,
        default: '--parts',
        group: scoring,
      }),
    )
    .addOption(optionOf('--gpus <n>', 'GPUs of each job', { parse: toNumber, default: '1', group: scoring }))
    .addOption(
      optionOf('--evaluate-time <time>', 'time limit of each job', { default: '--time', group: scoring }),
    )
    .addOption(
      optionOf('--lm-eval <command>', 'the command of lm-evaluation-harness on the nodes', {
        default: 'lm_eval',
        group: scoring,
      }),
    );

/** Adds what SLURM is told of evaluations. */
const addSlurmEvaluations = (command: Command): Command =>
  command
    .addOption(
      optionOf('--evaluate-partition <name>', 'partition to submit to', {
        default: '--partition',
        group: scoring,
      }),
    )
    .addOption(
      optionOf('--evaluate-account <name>', 'account to charge the jobs to', {
        default: '--account',
        group: scoring,
      }),
    )
    .addOption(optionOf('--evaluate-qos <name>', 'quality of service', { default: '--qos', group: scoring }));
