import { shellWord } from '../../core/base/command-line.js';
import { invalidParameter } from '../../core/base/invalid-parameter.js';
import { checkCount, checkTexts, mebibytesOf, secondsOf } from './checks.js';
import {
  type EvaluationJobs,
  type Job,
  type JobParameters,
  jobsOf,
  type TrainingJobParameters,
} from './jobs.js';

/** Limits that scoring jobs may override, in sbatch's notation. */
interface SnakemakeLimits {
  /** Time limit: `02:00:00`. Becomes `runtime`, in minutes. */
  readonly time?: string | undefined;
  /** Becomes `slurm_partition`. */
  readonly partition?: string | undefined;
  /** Becomes `slurm_account`. */
  readonly account?: string | undefined;
  /** Quality of service of SLURM: `qos`. */
  readonly qos?: string | undefined;
}

interface SnakemakeSettings extends SnakemakeLimits {
  /** CPUs and threads of each job (`threads`); default 1. */
  readonly cpus?: number | undefined;
  /** Memory of each job, in sbatch's notation: `32G`. Becomes `mem_mb`, in MiB. */
  readonly memory?: string | undefined;
  /** Retries of a failed job; default 2. */
  readonly retries?: number | undefined;
}

/** Parameters of `snakemakeWorkflow` for an experiment. */
export interface SnakemakeParameters extends JobParameters, SnakemakeSettings {
  /** Also score the models. The experiment must have `evaluate:`. */
  readonly evaluation?: SnakemakeEvaluation | undefined;
}

/** The scoring jobs; default limits are those of the other jobs. */
export interface SnakemakeEvaluation extends EvaluationJobs, SnakemakeLimits {}

/** Parameters of `snakemakeWorkflow` for a training. */
export interface SnakemakeTrainingParameters extends TrainingJobParameters, SnakemakeSettings {}

/**
 * Returns a Snakefile (Snakemake 8 and 9): parts that compute the shards, a last job that assembles the
 * merges, and with `evaluation` jobs that score the models. For a training, the parts train the runs, and the
 * last job reports which exist. Resources have Snakemake's standard names, which its executors translate.
 *
 * Declares only `experiment.json` as a result, since Snakemake deletes the declared outputs of failed jobs.
 * Jobs that write shards, checkpoints and scores leave empty markers beside the output directory.
 *
 * @throws LayerloomError INVALID_PARAMETER for counts below 1, empty texts, control characters, and braces in
 *   paths, which Snakemake reads as wildcards
 */
export const snakemakeWorkflow = ({
  evaluation: scoring,
  ...parameters
}: SnakemakeParameters | SnakemakeTrainingParameters): string => {
  const { cpus = 1, memory, retries = 2, time, partition, account, qos } = parameters;
  const jobs = jobsOf({ ...parameters, cpus }, scoring);
  const { file, out, record, about, parts, last, evaluation } = jobs;
  checkCount('retries', retries, 0);
  for (const [parameter, value] of Object.entries(jobs.paths)) checkBraces(parameter, value);
  const own = { time, partition, account, qos };
  const limitsFor = ({ gpus }: Job) => limitsOf({ cpus, memory, gpus, ...own });
  const scored = evaluation === undefined ? '' : ', expand(SCORED, part=range(SCORES))';
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
${record === undefined ? '' : `RECORD = ${text(record)}\n`}${evaluation === undefined ? '' : `EVALUATE = ${command(evaluation)}\nSCORES = ${evaluation.count}\nSCORED = OUT + ".snakemake/scored-{part}-of-${evaluation.count}"\n`}

localrules: all


${record === undefined ? '' : '# The record is a target too: a directory of merges that was removed is made again.\n'}rule all:
    input: ${record === undefined ? 'OUT + ".snakemake/finished"' : 'RECORD'}${scored}


# The marker says that the part has ended well. It goes once the last job has ended.
rule part:
    input: FILE
    output: temp(touch(OUT + ".snakemake/part-{part}-of-{parts}"))
    log: OUT + ".snakemake/part-{part}-of-{parts}.log"
    retries: ${retries}
${limitsFor(parts)}
    shell: "{PART} {wildcards.part}/{wildcards.parts} >> {log:q} 2>&1"


${record === undefined ? '' : '# update: a rerun keeps the record, and the scores in it, until it is written again.\n'}rule last:
    input:
        file=FILE,
        parts=expand(OUT + ".snakemake/part-{part}-of-{parts}", part=range(PARTS), parts=[PARTS]),
    output:
${record === undefined ? '' : '        record=update(RECORD),\n'}        finished=touch(OUT + ".snakemake/finished"),
    log: OUT + ".snakemake/last.log"
    retries: ${retries}
${limitsFor(last)}
    shell: "{LAST} >> {log:q} 2>&1"
${evaluation === undefined ? '' : evaluationRule(evaluation, retries, limitsOf({ cpus, memory, gpus: evaluation.gpus, ...own, ...given(scoring) }, 'evaluate-'))}`;
};

/** Depends on the merges' marker instead of the record, which scoring rewrites. */
const evaluationRule = ({ count }: Job, retries: number, limits: string): string => `

rule evaluate:
    input: OUT + ".snakemake/finished"
    output: touch(SCORED)
    log: OUT + ".snakemake/scored-{part}-of-${count}.log"
    retries: ${retries}
${limits}
    shell: "{EVALUATE} {wildcards.part}/{SCORES} >> {log:q} 2>&1"
`;

const given = ({ time, partition, account, qos }: SnakemakeLimits = {}): SnakemakeLimits =>
  Object.fromEntries(
    Object.entries({ time, partition, account, qos }).filter(([, value]) => value !== undefined),
  );

interface Limits extends SnakemakeLimits {
  readonly cpus: number;
  readonly memory: string | undefined;
  readonly gpus: number;
}

/** @param prefix of the parameters' names in messages */
const limitsOf = ({ cpus, memory, gpus, time, partition, account, qos }: Limits, prefix = ''): string => {
  checkTexts({
    [`${prefix}partition`]: partition,
    [`${prefix}account`]: account,
    [`${prefix}qos`]: qos,
  });
  const resources = [
    ...(memory === undefined ? [] : [`mem_mb=${mebibytesOf('memory', memory)}`]),
    ...(time === undefined ? [] : [`runtime=${Math.ceil(secondsOf(`${prefix}time`, time) / 60)}`]),
    ...(partition === undefined ? [] : [`slurm_partition=${text(partition)}`]),
    ...(account === undefined ? [] : [`slurm_account=${text(account)}`]),
    ...(qos === undefined ? [] : [`qos=${text(qos)}`]),
    ...(gpus === 0 ? [] : [`gpu=${gpus}`]),
  ];
  const threads = `    threads: ${cpus}`;
  return resources.length === 0 ? threads : `${threads}\n    resources: ${resources.join(', ')}`;
};

/** JSON strings are valid Python literals. */
const text = (value: string): string => JSON.stringify(value);

const command = ({ words }: Job): string => text(words.map(shellWord).join(' '));

const checkBraces = (parameter: string, value: string | undefined): void => {
  if (value !== undefined && /[{}]/.test(value))
    throw invalidParameter(parameter, value, 'a path without braces, which Snakemake reads as wildcards');
};
