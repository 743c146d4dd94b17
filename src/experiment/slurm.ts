import { LayerloomError } from '../errors.js';
import { shellWord } from '../evaluation/process.js';

/** The experiment and the jobs that `slurmScript` writes a script for. */
export interface SlurmParameters {
  /**
   * Absolute path of the experiment's file, on a file system that all nodes share; jobs start in another
   * directory than the script.
   */
  readonly experiment: string;
  /** Absolute path of the output directory, likewise shared. */
  readonly out: string;
  /** Absolute path of the store; by default that of `layerloom batch`. */
  readonly store?: string | undefined;
  /** Number of jobs that the work is divided among; default 8. */
  readonly parts?: number | undefined;
  /** Time limit, as sbatch takes it: `02:00:00`. */
  readonly time?: string | undefined;
  readonly partition?: string | undefined;
  /** Account that the jobs are charged to. */
  readonly account?: string | undefined;
  /** Memory of each job, as sbatch takes it: `32G`. */
  readonly memory?: string | undefined;
  /** CPUs of each job, and the number of its threads. */
  readonly cpus?: number | undefined;
  /** The command that runs layerloom on the nodes; default `['layerloom']`. */
  readonly command?: readonly string[] | undefined;
  /** Also submit jobs that score the models. The experiment must have `evaluate:`. */
  readonly evaluation?: SlurmEvaluation | undefined;
}

/** The jobs that score the models. What is not set is as for the other jobs. */
export interface SlurmEvaluation {
  /** Number of jobs that the models are divided among. Default: the number of parts. */
  readonly parts?: number | undefined;
  /** GPUs of each job; default 1, and 0 asks for none. */
  readonly gpus?: number | undefined;
  readonly time?: string | undefined;
  readonly partition?: string | undefined;
  readonly account?: string | undefined;
  /** The harness's command, as `layerloom evaluate --lm-eval` takes it. */
  readonly lmEval?: string | undefined;
}

/**
 * Returns a bash script that submits an experiment to SLURM: an array of jobs, each of which computes one
 * part of the shards into the shared store, and a last job that assembles the merges and writes
 * `experiment.json`. With `evaluation` another array scores the models, each job its part of them.
 *
 * Each step depends on the former by `afterany`, so that it runs even if some of its jobs fail: the last job
 * computes their missing shards and records the merges that fail, and the models that exist are scored.
 *
 * @throws LayerloomError INVALID_PARAMETER for counts below 1, empty texts, and control characters, which
 *   cannot be quoted safely
 */
export const slurmScript = ({
  experiment,
  out,
  store,
  parts = 8,
  time,
  partition,
  account,
  memory,
  cpus,
  command = ['layerloom'],
  evaluation,
}: SlurmParameters): string => {
  checkCount('parts', parts);
  if (cpus !== undefined) checkCount('cpus', cpus);
  checkTexts({ experiment, out, store, command: command.join(' ') });

  const batch = [
    ...command.map(shellWord),
    'batch',
    shellWord(experiment),
    '-o',
    shellWord(out),
    ...(store === undefined ? [] : ['--store', shellWord(store)]),
    ...(cpus === undefined ? [] : ['-j', String(cpus)]),
  ].join(' ');
  const common = { time, partition, account, memory, cpus };
  return `#!/usr/bin/env bash
# Submits ${experiment} to SLURM in ${parts} part${parts === 1 ? '' : 's'}, and a last job that finishes it.
# The experiment, its models, the output and the store must lie where every node sees them.
set -euo pipefail

logs=${shellWord(`${out}.slurm`)}
limits=(${limitsOf(common).join(' ')})
mkdir -p -- "$logs"
# sbatch reads % in the names of logs as its own.
log="\${logs//%/%%}"

parts=$(sbatch --parsable --job-name=layerloom --array=0-${parts - 1} --output="$log/part-%a.log" \\
  \${limits[@]+"\${limits[@]}"} <<'${end}'
#!/usr/bin/env bash
set -euo pipefail
exec ${batch} --shard-range "$SLURM_ARRAY_TASK_ID/${parts}"
${end}
)
# JOB, or JOB;CLUSTER.
parts="\${parts%%;*}"

# However the parts ended: this job computes what one of them has left.
last=$(sbatch --parsable --job-name=layerloom-last --dependency="afterany:$parts" --output="$log/last.log" \\
  \${limits[@]+"\${limits[@]}"} <<'${end}'
#!/usr/bin/env bash
set -euo pipefail
exec ${batch} --resume
${end}
)
last="\${last%%;*}"

echo "parts: job $parts (${rangeOf(parts)}), last: job $last, logs: $logs"
${evaluation === undefined ? '' : evaluationJobs({ ...evaluation, parts: evaluation.parts ?? parts }, { ...common, command, out })}`;
};

/** Limits of jobs, by sbatch's names for them. */
interface Limits {
  readonly time: string | undefined;
  readonly partition: string | undefined;
  readonly account: string | undefined;
  readonly memory: string | undefined;
  readonly cpus: number | undefined;
}

/** Returns the lines that submit the array of evaluations behind the job `$last`. */
const evaluationJobs = (
  { parts, gpus = 1, lmEval, ...own }: SlurmEvaluation & { readonly parts: number },
  { command, out, ...common }: Limits & { readonly command: readonly string[]; readonly out: string },
): string => {
  checkCount('evaluate-parts', parts);
  checkCount('gpus', gpus, 0);
  checkTexts({ 'lm-eval': lmEval });
  const limits = limitsOf(
    {
      ...common,
      time: own.time ?? common.time,
      partition: own.partition ?? common.partition,
      account: own.account ?? common.account,
    },
    'evaluate-',
  );
  const evaluate = [
    ...command.map(shellWord),
    'evaluate',
    shellWord(out),
    ...(lmEval === undefined ? [] : ['--lm-eval', shellWord(lmEval)]),
  ].join(' ');
  return `
# However the last job ended: the models that are there are scored.
limits=(${[...limits, ...(gpus === 0 ? [] : [`--gres=gpu:${gpus}`])].join(' ')})
scores=$(sbatch --parsable --job-name=layerloom-evaluate --array=0-${parts - 1} --dependency="afterany:$last" \\
  --output="$log/evaluate-%a.log" \${limits[@]+"\${limits[@]}"} <<'${end}'
#!/usr/bin/env bash
set -euo pipefail
exec ${evaluate} --part "$SLURM_ARRAY_TASK_ID/${parts}"
${end}
)
scores="\${scores%%;*}"

echo "scores: job $scores (${rangeOf(parts)})"
`;
};

/** @param prefix that of the parameters' names in messages */
const limitsOf = ({ time, partition, account, memory, cpus }: Limits, prefix = ''): string[] => {
  checkTexts({
    [`${prefix}time`]: time,
    [`${prefix}partition`]: partition,
    [`${prefix}account`]: account,
    memory,
  });
  return [
    ...(cpus === undefined ? [] : [`--cpus-per-task=${cpus}`]),
    ...(time === undefined ? [] : [shellWord(`--time=${time}`)]),
    ...(partition === undefined ? [] : [shellWord(`--partition=${partition}`)]),
    ...(account === undefined ? [] : [shellWord(`--account=${account}`)]),
    ...(memory === undefined ? [] : [shellWord(`--mem=${memory}`)]),
  ];
};

const rangeOf = (parts: number): string => (parts === 1 ? '0' : `0 to ${parts - 1}`);

/**
 * Delimiter of the here-documents. No line of a job is equal to it, since paths with line breaks are refused.
 */
const end = 'LAYERLOOM_JOB';

const checkCount = (parameter: string, value: number, least = 1): void => {
  if (!Number.isSafeInteger(value) || value < least)
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter,
      value,
      expected: `a whole number, ${least} or more`,
    });
};

const checkTexts = (texts: Readonly<Record<string, string | undefined>>): void => {
  for (const [parameter, value] of Object.entries(texts))
    if (value !== undefined && (value === '' || /\p{Cc}/u.test(value)))
      throw new LayerloomError('INVALID_PARAMETER', {
        parameter,
        value,
        expected: 'text without control characters',
      });
};
