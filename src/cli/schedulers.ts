import { realpathSync } from 'node:fs';
import { basename, dirname, extname, join, posix, resolve } from 'node:path';
import { LayerloomError } from '../base/errors.js';
import { itemAt } from '../base/lookup.js';
import { parseEvaluation } from '../evaluation/settings.js';
import { stampOf } from '../experiment/expected.js';
import { expandExperiment } from '../experiment/file/expand.js';
import { readExperiment } from '../experiment/file/read-experiment.js';
import { commandsIn } from '../experiment/made-here.js';
import type { EvaluationJobs, JobParameters } from '../experiment/schedulers/jobs.js';
import {
  type ClaimedVolume,
  type KubernetesParameters,
  kubernetesManifest,
} from '../experiment/schedulers/kubernetes.js';
import { type SlurmParameters, slurmScript } from '../experiment/schedulers/slurm.js';
import { type SnakemakeParameters, snakemakeWorkflow } from '../experiment/schedulers/snakemake.js';
import type { OutputOptions } from './options.js';
import { printJson, printText } from './print.js';

type OfJobs = 'experiment' | 'out' | 'command' | 'stamp' | 'evaluation';

interface JobOptions extends OutputOptions {
  readonly out?: string;
  readonly store?: string;
  readonly evaluate?: boolean;
  readonly evaluateParts?: number;
  readonly gpus?: number;
  readonly lmEval?: string;
  readonly evaluateTime?: string;
}

interface SlurmEvaluationOptions {
  readonly evaluatePartition?: string;
  readonly evaluateAccount?: string;
  readonly evaluateQos?: string;
}

export interface ExperimentSlurmOptions
  extends JobOptions,
    SlurmEvaluationOptions,
    Omit<SlurmParameters, OfJobs | 'directives' | 'store'> {
  readonly directive?: readonly string[];
  readonly evaluateDirective?: readonly string[];
}

export interface ExperimentSnakemakeOptions
  extends JobOptions,
    SlurmEvaluationOptions,
    Omit<SnakemakeParameters, OfJobs | 'store'> {}

export interface ExperimentKubernetesOptions
  extends JobOptions,
    Omit<KubernetesParameters, OfJobs | 'volumes' | 'store'> {
  readonly volume?: readonly string[];
  readonly experimentPath?: string;
  readonly command?: string;
  readonly evaluateImage?: string;
}

/** Checks an experiment and prints the script that submits it to SLURM. */
export const experimentSlurmCommand = async (
  file: string,
  options: ExperimentSlurmOptions,
): Promise<void> => {
  const { parts, time, partition, account, qos, memory, cpus, directive, evaluateDirective } = options;
  const read = await checked(file, options, {
    ...slurmEvaluationOptions(options),
    '--evaluate-directive': evaluateDirective,
  });
  const own = evaluationOf(options, read);
  const script = slurmScript({
    ...read.jobs,
    parts,
    time,
    partition,
    account,
    qos,
    memory,
    cpus,
    directives: directive,
    evaluation: own && { ...own, ...slurmEvaluation(options), directives: evaluateDirective },
  });
  print(read, options, { script });
};

/** Checks an experiment and prints the workflow that Snakemake runs. */
export const experimentSnakemakeCommand = async (
  file: string,
  options: ExperimentSnakemakeOptions,
): Promise<void> => {
  const { parts, time, partition, account, qos, memory, cpus, retries } = options;
  const read = await checked(file, options, slurmEvaluationOptions(options));
  const own = evaluationOf(options, read);
  const workflow = snakemakeWorkflow({
    ...read.jobs,
    parts,
    time,
    partition,
    account,
    qos,
    memory,
    cpus,
    retries,
    evaluation: own && { ...own, ...slurmEvaluation(options) },
  });
  print(read, options, { workflow });
};

/** Checks an experiment and prints the manifest of its jobs for Kubernetes. Paths are those of the pods. */
export const experimentKubernetesCommand = async (
  file: string,
  options: ExperimentKubernetesOptions,
): Promise<void> => {
  const { parts, time, memory, cpus, image, name, namespace, command, evaluateImage } = options;
  const read = await checked(file, options, { '--evaluate-image': evaluateImage });
  const own = evaluationOf(options, read);
  const experiment = posix.resolve(options.experimentPath ?? read.jobs.experiment);
  const manifest = kubernetesManifest({
    ...read.jobs,
    parts,
    time,
    memory,
    cpus,
    image,
    name,
    namespace,
    experiment,
    command: [command ?? 'layerloom'],
    volumes: (options.volume ?? []).map(volumeOf),
    evaluation: own && { ...own, image: evaluateImage },
  });
  print(read, options, { manifest });
};

interface CheckedJobs {
  readonly merges: number;
  /** Whether evaluations run commands of the experiment, which nodes with other homes take for a stranger's. */
  readonly allowServe: boolean;
  readonly jobs: Required<Pick<JobParameters, 'experiment' | 'out' | 'command' | 'stamp'>> & {
    readonly store: string | undefined;
  };
}

/**
 * Reads an experiment, and returns what its jobs need of it.
 *
 * @param further options of evaluations that only one scheduler has
 * @throws LayerloomError RECIPE_INVALID; USAGE for evaluations of nothing, and for their settings without any
 */
const checked = async (
  file: string,
  options: JobOptions,
  further: Readonly<Record<string, unknown>>,
): Promise<CheckedJobs> => {
  const read = await readExperiment(file);
  const { evaluate, evaluateParts, gpus, evaluateTime, lmEval, out, store } = options;
  const given = {
    '--evaluate-parts': evaluateParts,
    '--gpus': gpus,
    '--evaluate-time': evaluateTime,
    '--lm-eval': lmEval,
    ...further,
  };
  for (const [option, value] of Object.entries(given))
    if (!evaluate && value !== undefined)
      throw new LayerloomError('USAGE', { reason: `${option} is for evaluations; give --evaluate too` });
  if (evaluate && read.evaluate?.tasks === undefined)
    throw new LayerloomError('USAGE', {
      reason: `--evaluate: ${file} does not say what to measure; add evaluate: with tasks by language`,
    });
  const experiment = resolve(file);
  const beside = join(dirname(experiment), basename(experiment, extname(experiment)));
  return {
    merges: expandExperiment(read).length,
    allowServe:
      read.evaluate?.tasks !== undefined &&
      commandsIn(parseEvaluation(read.evaluate, dirname(experiment))).length > 0,
    jobs: {
      experiment,
      out: out === undefined ? beside : resolve(out),
      store: store === undefined ? undefined : resolve(store),
      command: ownCommand(),
      stamp: stampOf(read.text),
    },
  };
};

const print = (
  { merges, jobs: { out, stamp } }: CheckedJobs,
  { json }: OutputOptions,
  text: Readonly<Record<string, string>>,
): void => {
  if (json) printJson({ merges, out, stamp, ...text });
  else printText(Object.values(text).join('').trimEnd());
};

const evaluationOf = (
  { evaluate, evaluateParts, gpus, lmEval, evaluateTime }: JobOptions,
  { allowServe }: CheckedJobs,
): (EvaluationJobs & { readonly time: string | undefined }) | undefined =>
  evaluate ? { parts: evaluateParts, gpus, lmEval, allowServe, time: evaluateTime } : undefined;

const slurmEvaluation = ({ evaluatePartition, evaluateAccount, evaluateQos }: SlurmEvaluationOptions) => ({
  partition: evaluatePartition,
  account: evaluateAccount,
  qos: evaluateQos,
});

const slurmEvaluationOptions = (options: SlurmEvaluationOptions) => ({
  '--evaluate-partition': options.evaluatePartition,
  '--evaluate-account': options.evaluateAccount,
  '--evaluate-qos': options.evaluateQos,
});

/** Parses `CLAIM=PATH` or `CLAIM=PATH:ro`. @throws LayerloomError USAGE */
const volumeOf = (given: string): ClaimedVolume => {
  const { claim, path, mode } = /^(?<claim>[^=]+)=(?<path>.+?)(?<mode>:ro)?$/s.exec(given)?.groups ?? {};
  if (claim === undefined || path === undefined)
    throw new LayerloomError('USAGE', {
      reason: `--volume ${given}: expected CLAIM=PATH, such as models=/data`,
    });
  return { claim, path, readOnly: mode !== undefined };
};

/** Returns this Node and this script by absolute path, since compute nodes may have another PATH. */
const ownCommand = (): string[] => [process.execPath, realpathSync(itemAt(process.argv, 1))];
