import { shellWord } from '../../core/base/command-line.js';
import { invalidParameter } from '../../core/base/invalid-parameter.js';
import { checkTexts } from './checks.js';
import {
  type EvaluationJobs,
  type Job,
  type JobParameters,
  jobsOf,
  type TrainingJobParameters,
} from './jobs.js';

/** Limits that scoring jobs may override. */
interface SlurmLimits {
  /** Time limit, in sbatch's notation: `02:00:00`. */
  readonly time?: string | undefined;
  readonly partition?: string | undefined;
  /** Account to charge. */
  readonly account?: string | undefined;
  /** Quality of service. */
  readonly qos?: string | undefined;
  /** Further options of sbatch, in long form: `--constraint=a100`, `--exclusive`. */
  readonly directives?: readonly string[] | undefined;
}

interface SlurmSettings extends SlurmLimits {
  /** Memory of each job, in sbatch's notation: `32G`. */
  readonly memory?: string | undefined;
}

/** Parameters of `slurmScript` for an experiment. */
export interface SlurmParameters extends JobParameters, SlurmSettings {
  /** Also score the models. The experiment must have `evaluate:`. */
  readonly evaluation?: SlurmEvaluation | undefined;
}

/** The scoring jobs; default limits are those of the other jobs. */
export interface SlurmEvaluation extends EvaluationJobs, SlurmLimits {}

/** Parameters of `slurmScript` for a training. */
export interface SlurmTrainingParameters extends TrainingJobParameters, SlurmSettings {}

/**
 * Returns a bash script that submits an experiment to SLURM: an array of jobs that compute the shards into
 * the shared store, and a last job that assembles the merges and writes `experiment.json`. With `evaluation`,
 * another array scores the models. For a training, the array trains the runs, and the last job reports which
 * exist.
 *
 * Each step depends on the former by `afterany`, and runs even if jobs fail: the last job computes missing
 * shards and records failed merges, and existing models are scored.
 *
 * @throws LayerloomError INVALID_PARAMETER for counts below 1, empty texts, and control characters, which
 *   cannot be quoted safely. Also for directives that are not long options of sbatch, or that the script sets
 *   itself.
 */
export const slurmScript = ({
  evaluation: scoring,
  ...parameters
}: SlurmParameters | SlurmTrainingParameters): string => {
  const { cpus, memory, time, partition, account, qos, directives } = parameters;
  const { out, about, parts, last, evaluation } = jobsOf(parameters, scoring);
  const own = { time, partition, account, qos, directives };
  const common = { cpus, memory };
  return `#!/usr/bin/env bash
# Submits ${about.subject} to SLURM in ${parts.count} part${parts.count === 1 ? '' : 's'}, and a last job that ${about.last}.
# ${about.shared} must lie where every node sees them.
set -euo pipefail

logs=${shellWord(`${out}.slurm`)}
mkdir -p -- "$logs"
# sbatch reads % in the names of logs as its own.
log="\${logs//%/%%}"
# Jobs that are submitted again append to the logs.
export SBATCH_OPEN_MODE=append

${limitsLine({ ...common, ...own, gpus: parts.gpus })}
parts=$(sbatch --parsable --job-name=layerloom --array=0-${parts.count - 1} --output="$log/part-%a.log" \\
  \${limits[@]+"\${limits[@]}"} <<'${end}'
${arrayJob(parts)}${end}
)
# JOB, or JOB;CLUSTER.
parts="\${parts%%;*}"

# However the parts ended: this job ${about.last}.
${limitsLine({ ...common, ...own, gpus: last.gpus })}
last=$(sbatch --parsable --job-name=layerloom-last --dependency="afterany:$parts" --output="$log/last.log" \\
  \${limits[@]+"\${limits[@]}"} <<'${end}'
${jobText(last)}
${end}
)
last="\${last%%;*}"

echo "parts: job $parts (${rangeOf(parts)}), last: job $last, logs: $logs"
${evaluation === undefined ? '' : evaluationText(evaluation, { ...common, ...own, ...given(scoring) })}`;
};

/** Limits of jobs, by sbatch's names. */
interface Limits extends SlurmLimits {
  readonly memory: string | undefined;
  readonly cpus: number | undefined;
  readonly gpus: number;
}

const given = ({ time, partition, account, qos, directives }: SlurmLimits = {}): SlurmLimits =>
  Object.fromEntries(
    Object.entries({ time, partition, account, qos, directives }).filter(([, value]) => value !== undefined),
  );

/** Returns the lines that submit the scoring array after the job `$last`. */
const evaluationText = (job: Job, limits: Omit<Limits, 'gpus'>): string => `
# However the last job ended: the models that are there are scored.
${limitsLine({ ...limits, gpus: job.gpus }, 'evaluate-')}
scores=$(sbatch --parsable --job-name=layerloom-evaluate --array=0-${job.count - 1} --dependency="afterany:$last" \\
  --output="$log/evaluate-%a.log" \${limits[@]+"\${limits[@]}"} <<'${end}'
${arrayJob(job)}${end}
)
scores="\${scores%%;*}"

echo "scores: job $scores (${rangeOf(job)})"
`;

const jobText = ({ words }: Pick<Job, 'words'>): string => `#!/usr/bin/env bash
set -euo pipefail
exec ${words.map(shellWord).join(' ')}`;

const arrayJob = (job: Job): string => `${jobText(job)} "$SLURM_ARRAY_TASK_ID/${job.count}"\n`;

/** @param prefix of the parameters' names in messages */
const limitsLine = (limits: Limits, prefix = ''): string => `limits=(${limitsOf(limits, prefix).join(' ')})`;

const limitsOf = (
  { time, partition, account, qos, directives = [], memory, cpus, gpus }: Limits,
  prefix: string,
): string[] => {
  checkTexts({
    [`${prefix}time`]: time,
    [`${prefix}partition`]: partition,
    [`${prefix}account`]: account,
    [`${prefix}qos`]: qos,
    memory,
  });
  for (const directive of directives) checkDirective(`${prefix}directive`, directive);
  return [
    ...(cpus === undefined ? [] : [`--cpus-per-task=${cpus}`]),
    ...(time === undefined ? [] : [`--time=${time}`]),
    ...(partition === undefined ? [] : [`--partition=${partition}`]),
    ...(account === undefined ? [] : [`--account=${account}`]),
    ...(qos === undefined ? [] : [`--qos=${qos}`]),
    ...(memory === undefined ? [] : [`--mem=${memory}`]),
    ...directives,
    ...(gpus === 0 ? [] : [`--gres=gpu:${gpus}`]),
  ].map(shellWord);
};

/** Options of sbatch that the script sets, or whose output it reads. */
const reserved = ['array', 'dependency', 'job-name', 'output', 'parsable', 'wrap'];

const checkDirective = (parameter: string, directive: string): void => {
  checkTexts({ [parameter]: directive });
  const name = /^--(?<name>[a-z][a-z-]*)(?:=.+)?$/.exec(directive)?.groups?.['name'];
  // sbatch accepts any unique prefix of an option.
  if (name === undefined || reserved.some((option) => option.startsWith(name)))
    throw invalidParameter(
      parameter,
      directive,
      `a long option of sbatch, as --constraint=a100, and none of ${reserved.join(', ')}`,
    );
};

const rangeOf = ({ count }: Job): string => (count === 1 ? '0' : `0 to ${count - 1}`);

/** Delimiter of here-documents. No line of a job equals it: paths with line breaks are refused. */
const end = 'LAYERLOOM_JOB';
