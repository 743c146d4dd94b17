import { shellWord } from '../../core/base/errors/command-line.js';
import { invalidParameter } from '../../core/base/errors/invalid-parameter.js';
import { checkTexts, secondsOf } from './checks.js';
import {
  type EvaluationJobs,
  type Job,
  type JobParameters,
  jobsOf,
  type SlurmLimits,
  type TrainingJobParameters,
} from './jobs.js';

interface SlurmDirectives extends SlurmLimits {
  /** Further options of sbatch in long form: `--constraint=a100`, `--exclusive`. */
  readonly directives?: readonly string[] | undefined;
}

interface SlurmSettings extends SlurmDirectives {
  /** Memory per job, as for sbatch: `32G`. */
  readonly memory?: string | undefined;
}

export interface SlurmParameters extends JobParameters, SlurmSettings {
  /** Also score the models; needs `evaluate:` in the experiment. */
  readonly evaluation?: SlurmEvaluation | undefined;
}

/** Settings of scoring jobs; default limits are the other jobs' limits. */
export interface SlurmEvaluation extends EvaluationJobs, SlurmDirectives {}

export interface SlurmTrainingParameters extends TrainingJobParameters, SlurmSettings {}

/** Delimiter of here-documents. No line can equal it, because paths with line breaks are refused. */
const end = 'LAYERLOOM_JOB';

/** Expands an array, which may be empty under `set -u`. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: bash expands it.
const limits = '${limits[@]+"${limits[@]}"}';

/**
 * Returns a bash script that submits an experiment to SLURM: an array of jobs that compute the shards into
 * the shared store, and a last job that assembles the merges and writes `experiment.json`. With `evaluation`,
 * another array scores the models. For a training, the array trains the runs, and the last job reports which
 * exist.
 *
 * Steps depend on each other by `afterany`, and so run even if jobs fail. The last job then computes missing shards and
 * records failed merges.
 *
 * @throws INVALID_PARAMETER for counts below 1, empty texts, and control characters, which cannot be quoted
 * safely. Also for directives that are not long options of sbatch, or that the script sets itself.
 */
export const slurmScript = (parameters: SlurmParameters | SlurmTrainingParameters): string => {
  const { out, about, jobs } = jobsOf(parameters);
  const [parts, last, evaluation] = jobs;
  return `#!/usr/bin/env bash
# Submits ${about.subject} to SLURM in ${parts.count} part${parts.count === 1 ? '' : 's'}, and a last job that ${about.last}.
# ${about.shared} must be visible to every node.
set -euo pipefail

logs=${shellWord(`${out}.slurm`)}
mkdir -p -- "$logs"
# sbatch reads % in the names of logs as its own.
log="\${logs//%/%%}"
# Jobs that are submitted again append to the logs.
export SBATCH_OPEN_MODE=append

${submission(parts, 'parts', `--job-name=layerloom ${arrayOf(parts)} --output="$log/part-%a.log" \\\n  ${limits}`)}
# JOB, or JOB;CLUSTER.
parts="\${parts%%;*}"

# Runs even if parts failed: this job ${about.last}.
${submission(last, 'last', `--job-name=layerloom-last --dependency="afterany:$parts" --output="$log/last.log" \\\n  ${limits}`)}
last="\${last%%;*}"

echo "parts: job $parts (${rangeOf(parts)}), last: job $last, logs: $logs"
${
  evaluation === undefined
    ? ''
    : `
# Runs even if the last job failed: scores the models that exist.
${submission(evaluation, 'scores', `--job-name=layerloom-evaluate ${arrayOf(evaluation)} --dependency="afterany:$last" \\\n  --output="$log/evaluate-%a.log" ${limits}`)}
scores="\${scores%%;*}"

echo "scores: job $scores (${rangeOf(evaluation)})"
`
}`;
};

const submission = (
  job: Job,
  variable: string,
  options: string,
): string => `limits=(${limitsOf(job).join(' ')})
${variable}=$(sbatch --parsable ${options} <<'${end}'
#!/usr/bin/env bash
set -euo pipefail
exec ${job.words.map(shellWord).join(' ')}${job.isArray ? ` "$SLURM_ARRAY_TASK_ID/${job.count}"` : ''}
${end}
)`;

const limitsOf = ({ prefix, gpus, limits: { directives = [], memory, cpus, ...own } }: Job): string[] => {
  const { time, partition, account, qos } = own;
  checkTexts({ time, partition, account, qos }, prefix);
  checkTexts({ memory });
  // Checks the time now, because sbatch checks it only when the script runs.
  if (time !== undefined && !/^(unlimited|infinite)$/i.test(time)) secondsOf(`${prefix}time`, time);
  for (const directive of directives) checkDirective(`${prefix}directive`, directive);
  const options = { 'cpus-per-task': cpus, time, partition, account, qos, mem: memory };
  return [
    ...Object.entries(options).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name}=${value}`],
    ),
    ...directives,
    ...(gpus === 0 ? [] : [`--gres=gpu:${gpus}`]),
  ].map(shellWord);
};

/** Options of sbatch that the script sets or relies on. */
const reserved = ['array', 'dependency', 'job-name', 'output', 'parsable', 'wrap'];

const checkDirective = (parameter: string, directive: string): void => {
  checkTexts({ [parameter]: directive });
  const name = /^--(?<name>[a-z][a-z-]*)(?:=.+)?$/.exec(directive)?.groups?.['name'];
  // A prefix of a reserved option is refused too, because sbatch accepts unique prefixes.
  if (name === undefined || reserved.some((option) => option.startsWith(name)))
    throw invalidParameter(
      parameter,
      directive,
      `a long option of sbatch, such as --constraint=a100, other than ${reserved.join(', ')}`,
    );
};

const arrayOf = ({ count }: Job): string => `--array=0-${count - 1}`;

const rangeOf = ({ count }: Job): string => (count === 1 ? '0' : `0 to ${count - 1}`);
