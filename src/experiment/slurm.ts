import { LayerloomError } from '../errors.js';

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
  /** Memory of each job, as sbatch takes it: `32G`. */
  readonly memory?: string | undefined;
  /** CPUs of each job, and the number of its threads. */
  readonly cpus?: number | undefined;
  /** The command that runs layerloom on the nodes; default `['layerloom']`. */
  readonly command?: readonly string[] | undefined;
}

/**
 * Returns a bash script that submits an experiment to SLURM: an array of jobs, each of which computes one
 * part of the shards into the shared store, and a last job that assembles the merges and writes
 * `experiment.json`.
 *
 * The last job depends on the others by `afterany`, so that it runs even if some of them fail: it then
 * computes their missing shards, and records the merges that fail.
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
  memory,
  cpus,
  command = ['layerloom'],
}: SlurmParameters): string => {
  checkCount('parts', parts);
  if (cpus !== undefined) checkCount('cpus', cpus);
  const texts = { experiment, out, store, time, partition, memory, command: command.join(' ') };
  for (const [name, text] of Object.entries(texts)) if (text !== undefined) checkText(name, text);

  const batch = [
    ...command.map(quoted),
    'batch',
    quoted(experiment),
    '-o',
    quoted(out),
    ...(store === undefined ? [] : ['--store', quoted(store)]),
    ...(cpus === undefined ? [] : ['-j', String(cpus)]),
  ].join(' ');
  const limits = [
    ...(cpus === undefined ? [] : [`--cpus-per-task=${cpus}`]),
    ...(time === undefined ? [] : [quoted(`--time=${time}`)]),
    ...(partition === undefined ? [] : [quoted(`--partition=${partition}`)]),
    ...(memory === undefined ? [] : [quoted(`--mem=${memory}`)]),
  ];
  return `#!/usr/bin/env bash
# Submits ${experiment} to SLURM in ${parts} part${parts === 1 ? '' : 's'}, and a last job that finishes it.
# The experiment, its models, the output and the store must lie where every node sees them.
set -euo pipefail

logs=${quoted(`${out}.slurm`)}
limits=(${limits.join(' ')})
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

echo "parts: job $parts (${parts === 1 ? '0' : `0 to ${parts - 1}`}), last: job $last, logs: $logs"
`;
};

/**
 * Delimiter of the here-documents. No line of a job is equal to it, since paths with line breaks are refused.
 */
const end = 'LAYERLOOM_JOB';

const checkCount = (parameter: string, value: number): void => {
  if (!Number.isSafeInteger(value) || value < 1)
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter,
      value,
      expected: 'a whole number, 1 or more',
    });
};

const checkText = (parameter: string, value: string): void => {
  if (value === '' || /\p{Cc}/u.test(value))
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter,
      value,
      expected: 'text without control characters',
    });
};

/** Quotes a text as one word of bash. */
const quoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
