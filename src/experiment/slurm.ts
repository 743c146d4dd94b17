import { LayerloomError } from '../errors.js';

export interface SlurmParameters {
  /** Paths that the nodes share, absolute: jobs begin elsewhere than the script. */
  readonly experiment: string;
  readonly out: string;
  /** The batch's own default where there is none. */
  readonly store?: string | undefined;
  /** How many jobs the work is divided among; default 8. */
  readonly parts?: number | undefined;
  /** As sbatch takes them: `02:00:00`, `main`, `32G`. */
  readonly time?: string | undefined;
  readonly partition?: string | undefined;
  readonly memory?: string | undefined;
  /** Of each job, and as many threads. */
  readonly cpus?: number | undefined;
  /** How nodes call layerloom; default `['layerloom']`. */
  readonly command?: readonly string[] | undefined;
}

/**
 * A bash script that submits an experiment to SLURM: an array of jobs, each of which computes its part of the shards into the store that all
 * share; and behind them one job that links every merge and writes the finished `experiment.json`.
 *
 * The last job waits for the others to end however they end (`afterany`): it computes what a failed part has left, and records what cannot be.
 *
 * @throws LayerloomError INVALID_PARAMETER for counts below 1, and for control characters, which no shell script can be trusted with
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

/** Ends the jobs' texts; no path is this line, since none has a line's end. */
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

/** A word of bash. */
const quoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
