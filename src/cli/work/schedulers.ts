import { basename, dirname, extname, join, posix, resolve } from 'node:path';
import { LayerloomError } from '../../core/base/errors.js';
import { parseEvaluation } from '../../study/evaluation/settings.js';
import { stampOf } from '../../study/experiment/expected.js';
import { expandExperiment } from '../../study/experiment/file/expand.js';
import { readExperiment } from '../../study/experiment/file/read-experiment.js';
import { commandsIn } from '../../study/experiment/made-here.js';
import type { EvaluationJobs, JobParameters } from '../../study/schedulers/jobs.js';
import { type KubernetesParameters, kubernetesManifest } from '../../study/schedulers/kubernetes.js';
import { type SlurmParameters, slurmScript } from '../../study/schedulers/slurm.js';
import { type SnakemakeParameters, snakemakeWorkflow } from '../../study/schedulers/snakemake.js';
import type { Given } from '../framework/command.js';
import type { OptionDeclaration } from '../framework/option.js';
import type { OutputOptions } from '../options/output.js';
import {
  evaluationOptions,
  type jobOptions,
  ownEvaluationOptions,
  slurmEvaluationOptions,
} from '../options/scheduling.js';
import { printJson, printText } from '../print.js';
import { ownCommand, volumeOf } from './where-jobs-run.js';

type GivenFor<O extends Readonly<Record<string, OptionDeclaration>>> = Given<Record<never, never>, O>;

type JobsGiven = GivenFor<typeof jobOptions & typeof evaluationOptions> & { readonly experiment: string };
type SlurmJobsGiven = JobsGiven & GivenFor<typeof slurmEvaluationOptions>;

type OfJobs = 'experiment' | 'out' | 'store' | 'command' | 'stamp' | 'evaluation';

type SlurmGiven = SlurmJobsGiven &
  Omit<SlurmParameters, OfJobs> &
  Pick<GivenFor<typeof ownEvaluationOptions>, 'evaluateDirectives'>;

type SnakemakeGiven = SlurmJobsGiven & Omit<SnakemakeParameters, OfJobs>;

type KubernetesGiven = JobsGiven &
  Omit<KubernetesParameters, OfJobs | 'volumes'> &
  Pick<GivenFor<typeof ownEvaluationOptions>, 'evaluateImage'> & {
    readonly volumes?: readonly string[];
    readonly experimentPath?: string;
    readonly command?: string;
  };

export const experimentSlurmCommand = async (given: SlurmGiven): Promise<void> => {
  const { parts, time, partition, account, qos, memory, cpus, directives, evaluateDirectives } = given;
  const read = await checked(given);
  const own = evaluationOf(given, read);
  const script = slurmScript({
    ...read.jobs,
    parts,
    time,
    partition,
    account,
    qos,
    memory,
    cpus,
    directives,
    evaluation: own && { ...own, ...slurmEvaluation(given), directives: evaluateDirectives },
  });
  print(read, given, { script });
};

export const experimentSnakemakeCommand = async (given: SnakemakeGiven): Promise<void> => {
  const { parts, time, partition, account, qos, memory, cpus, retries } = given;
  const read = await checked(given);
  const own = evaluationOf(given, read);
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
    evaluation: own && { ...own, ...slurmEvaluation(given) },
  });
  print(read, given, { workflow });
};

/** Paths are those in the pods. */
export const experimentKubernetesCommand = async (given: KubernetesGiven): Promise<void> => {
  const { parts, time, memory, cpus, image, name, namespace, command, volumes, evaluateImage } = given;
  const read = await checked(given);
  const own = evaluationOf(given, read);
  const experiment = posix.resolve(given.experimentPath ?? read.jobs.experiment);
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
    volumes: (volumes ?? []).map(volumeOf),
    evaluation: own && { ...own, image: evaluateImage },
  });
  print(read, given, { manifest });
};

interface CheckedJobs {
  readonly merges: number;
  /**
   * True if evaluations run commands from the experiment's file, which nodes with another home folder would
   * not trust.
   */
  readonly allowServe: boolean;
  readonly jobs: Required<Pick<JobParameters, 'experiment' | 'out' | 'command' | 'stamp'>> & {
    readonly store: string | undefined;
  };
}

/**
 * @throws LayerloomError RECIPE_INVALID; USAGE for evaluations without models or tasks, and for settings
 *   without evaluations
 */
const checked = async (given: JobsGiven): Promise<CheckedJobs> => {
  const { experiment: file, evaluate, out, store } = given;
  const read = await readExperiment(file);
  const ofEvaluations = { ...evaluationOptions, ...slurmEvaluationOptions, ...ownEvaluationOptions };
  for (const [name, { flags }] of Object.entries(ofEvaluations))
    if (!evaluate && Object.hasOwn(given, name))
      throw new LayerloomError('USAGE', {
        reason: `${flags.replace(/ .*/, '')} is for evaluations; give --evaluate too`,
      });
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
  { evaluate, evaluateParts, gpus, lmEval, evaluateTime }: JobsGiven,
  { allowServe }: CheckedJobs,
): (EvaluationJobs & { readonly time: string | undefined }) | undefined =>
  evaluate ? { parts: evaluateParts, gpus, lmEval, allowServe, time: evaluateTime } : undefined;

const slurmEvaluation = ({ evaluatePartition, evaluateAccount, evaluateQos }: SlurmJobsGiven) => ({
  partition: evaluatePartition,
  account: evaluateAccount,
  qos: evaluateQos,
});
