import { shellWord } from '../../core/base/errors/command-line.js';
import { invalidParameter } from '../../core/base/errors/invalid-parameter.js';
import { checkCount, checkTexts, mebibytesOf, secondsOf } from './checks.js';
import {
  type EvaluationJobs,
  type Job,
  type JobParameters,
  jobsOf,
  type SlurmLimits,
  type TrainingJobParameters,
} from './jobs.js';

interface SnakemakeSettings extends SlurmLimits {
  /** CPUs and threads per job; default 1. */
  readonly cpus?: number | undefined;
  /** Memory per job, as for sbatch: `32G`. Becomes `mem_mb`, in MiB. */
  readonly memory?: string | undefined;
  /** Retries of failed jobs; default 2. */
  readonly retries?: number | undefined;
}

export interface SnakemakeParameters extends JobParameters, SnakemakeSettings {
  /** Also score the models; needs `evaluate:` in the experiment. */
  readonly evaluation?: SnakemakeEvaluation | undefined;
}

/** Settings of scoring jobs; default limits are the other jobs' limits. */
export interface SnakemakeEvaluation extends EvaluationJobs, SlurmLimits {}

export interface SnakemakeTrainingParameters extends TrainingJobParameters, SnakemakeSettings {}

/**
 * Returns a Snakefile (Snakemake 8 and 9): parts that compute the shards, a last job that assembles the
 * merges, and with `evaluation` jobs that score the models. For a training, the parts train the runs, and the
 * last job reports which exist. Resources have Snakemake's standard names, which executors translate.
 *
 * Only `experiment.json` is a declared output, because Snakemake deletes declared outputs of failed jobs.
 * Other jobs leave empty markers beside the output directory.
 *
 * @throws INVALID_PARAMETER for counts below 1, empty texts, control characters, and braces in paths, which
 *   Snakemake reads as wildcards
 */
export const snakemakeWorkflow = (parameters: SnakemakeParameters | SnakemakeTrainingParameters): string => {
  const { cpus = 1, retries = 2 } = parameters;
  const { file, out, record, paths, about, jobs } = jobsOf({ ...parameters, cpus });
  const [parts, last, evaluation] = jobs;
  checkCount('retries', retries, 0);
  for (const [parameter, value] of Object.entries(paths)) checkBraces(parameter, value);
  const recorded = (lines: string) => (record === undefined ? '' : lines);
  const scored = (lines: string) => (evaluation === undefined ? '' : lines);
  const end = (job: Job, shell: string) => `    retries: ${retries}
${limitsOf(job)}
    shell: "${shell} >> {log:q} 2>&1"
`;
  return `# Runs ${about.subject} in ${parts.count} part${parts.count === 1 ? '' : 's'}, and a last job that ${about.last}.
#   snakemake -s Snakefile --cores all --keep-going
# After parts that failed for good, the last job runs without them, and ${about.last}:
#   snakemake -s Snakefile --cores all --config parts=0
PARTS = int(config.get("parts", ${parts.count}))
FILE = ${text(file)}
OUT = ${text(out)}
# Commands, as words of the shell.
PART = ${command(parts)}
LAST = ${command(last)}
${recorded(`RECORD = ${text(String(record))}\n`)}${
  evaluation === undefined
    ? ''
    : `EVALUATE = ${command(evaluation)}
SCORES = ${evaluation.count}
SCORED = OUT + ".snakemake/scored-{part}-of-${evaluation.count}"
`
}

localrules: all


${recorded('# The record is also a target, so that a removed directory of merges is made again.\n')}rule all:
    input: ${record === undefined ? 'OUT + ".snakemake/finished"' : 'RECORD'}${scored(', expand(SCORED, part=range(SCORES))')}


# The marker says that the part has ended well. It goes once the last job has ended.
rule part:
    input: FILE
    output: temp(touch(OUT + ".snakemake/part-{part}-of-{parts}"))
    log: OUT + ".snakemake/part-{part}-of-{parts}.log"
${end(parts, '{PART} {wildcards.part}/{wildcards.parts}')}

${recorded('# update(): a rerun keeps the record and its scores until it writes a new one.\n')}rule last:
    input:
        file=FILE,
        parts=expand(OUT + ".snakemake/part-{part}-of-{parts}", part=range(PARTS), parts=[PARTS]),
    output:
${recorded('        record=update(RECORD),\n')}        finished=touch(OUT + ".snakemake/finished"),
    log: OUT + ".snakemake/last.log"
${end(last, '{LAST}')}${
  evaluation === undefined
    ? ''
    : // Depends on the merges' marker instead of the record, which scoring rewrites.
      `

rule evaluate:
    input: OUT + ".snakemake/finished"
    output: touch(SCORED)
    log: OUT + ".snakemake/scored-{part}-of-${evaluation.count}.log"
${end(evaluation, '{EVALUATE} {wildcards.part}/{SCORES}')}`
}`;
};

const limitsOf = ({ limits, prefix, gpus }: Job): string => {
  const { cpus, memory, time, partition, account, qos } = limits;
  checkTexts({ partition, account, qos }, prefix);
  const given = {
    mem_mb: memory === undefined ? undefined : mebibytesOf('memory', memory),
    runtime: time === undefined ? undefined : Math.ceil(secondsOf(`${prefix}time`, time) / 60),
    ...{ slurm_partition: partition, slurm_account: account, qos },
    gpu: gpus === 0 ? undefined : gpus,
  };
  // JSON strings and numbers are valid Python literals.
  const resources = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${JSON.stringify(value)}`],
  );
  return [
    `    threads: ${cpus}`,
    ...(resources.length === 0 ? [] : [`    resources: ${resources.join(', ')}`]),
  ].join('\n');
};

const text = (value: string): string => JSON.stringify(value);

const command = ({ words }: Job): string => text(words.map(shellWord).join(' '));

const checkBraces = (parameter: string, value: string | undefined): void => {
  if (value !== undefined && /[{}]/.test(value))
    throw invalidParameter(parameter, value, 'a path without braces, which Snakemake reads as wildcards');
};
