import { realpathSync } from 'node:fs';
import { basename, dirname, extname, join, posix, resolve } from 'node:path';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { invalidParameter } from '../../../core/base/errors/invalid-parameter.js';
import { itemAt } from '../../../core/base/errors/lookup.js';
import { parseEvaluation } from '../../../study/evaluation/settings.js';
import { stampOf } from '../../../study/experiment/expected.js';
import { expandExperiment } from '../../../study/experiment/file/expand.js';
import { readExperiment } from '../../../study/experiment/file/read-experiment.js';
import { commandsIn } from '../../../study/experiment/made-here.js';
import type {
  EvaluationJobs,
  JobLimits,
  JobParameters,
  TrainingJobParameters,
} from '../../../study/schedulers/jobs.js';
import { type ClaimedVolume, kubernetesManifest } from '../../../study/schedulers/kubernetes.js';
import { slurmScript } from '../../../study/schedulers/slurm.js';
import { snakemakeWorkflow } from '../../../study/schedulers/snakemake.js';
import { readManifest } from '../../../study/training/manifest.js';
import type { Given } from '../../framework/command.js';
import type { OptionDeclaration } from '../../framework/option.js';
import type { OutputOptions } from '../../options/output.js';
import {
  evaluationOptions,
  type jobOptions,
  type kubernetesOptions,
  ownEvaluationOptions,
  slurmEvaluationOptions,
  type slurmOptions,
  type snakemakeOptions,
  type trainingJobOptions,
} from '../../options/scheduling.js';
import { printJson, printText } from '../../print.js';

type GivenFor<O extends Readonly<Record<string, OptionDeclaration>>> = Given<Record<never, never>, O>;

type OfSlurm = GivenFor<typeof slurmOptions>;
type OfSnakemake = GivenFor<typeof snakemakeOptions>;
type OfKubernetes = GivenFor<typeof kubernetesOptions> & { readonly image: string };

type OfExperiment = GivenFor<
  typeof jobOptions & typeof evaluationOptions & typeof slurmEvaluationOptions & typeof ownEvaluationOptions
> & { readonly experiment: string };

type OfTraining = GivenFor<typeof trainingJobOptions> & { readonly directory: string };

export const experimentSlurmCommand = (given: OfExperiment & OfSlurm): Promise<void> =>
  printExperiment(given, (jobs) => ({ script: slurmScript({ ...given, ...jobs }) }));

export const experimentSnakemakeCommand = (given: OfExperiment & OfSnakemake): Promise<void> =>
  printExperiment(given, (jobs) => ({ workflow: snakemakeWorkflow({ ...given, ...jobs }) }));

/** Paths are those in the pods. */
export const experimentKubernetesCommand = (
  given: OfExperiment & OfKubernetes & { readonly experimentPath?: string },
): Promise<void> =>
  printExperiment(given, (jobs) => {
    const experiment = posix.resolve(given.experimentPath ?? jobs.experiment);
    return { manifest: kubernetesManifest({ ...given, ...jobs, ...inPods(given), experiment }) };
  });

export const trainSlurmCommand = (given: OfTraining & OfSlurm): Promise<void> =>
  printTraining(given, (jobs) => ({ script: slurmScript({ ...given, ...jobs }) }));

export const trainSnakemakeCommand = (given: OfTraining & OfSnakemake): Promise<void> =>
  printTraining(given, (jobs) => ({ workflow: snakemakeWorkflow({ ...given, ...jobs }) }));

/** Paths are those in the pods. */
export const trainKubernetesCommand = (
  given: OfTraining & OfKubernetes & { readonly trainingPath?: string },
): Promise<void> =>
  printTraining(given, (jobs) => {
    const training = posix.resolve(given.trainingPath ?? jobs.training);
    return { training, manifest: kubernetesManifest({ ...given, ...jobs, ...inPods(given), training }) };
  });

type Printed = Readonly<Record<string, unknown>>;

const print = (printed: Printed, { json }: OutputOptions): void => {
  if (json) printJson(printed);
  else printText(String(Object.values(printed).at(-1)).trimEnd());
};

type CheckedJobs = JobParameters & { readonly evaluation: (EvaluationJobs & JobLimits) | undefined };

/**
 * @throws RECIPE_INVALID; USAGE for evaluations without models or tasks, and for settings without evaluations
 */
const printExperiment = async (given: OfExperiment, write: (jobs: CheckedJobs) => Printed): Promise<void> => {
  const { experiment: file, evaluate, store } = given;
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
  const out = resolve(given.out ?? join(dirname(experiment), basename(experiment, extname(experiment))));
  const stamp = stampOf(read.text);
  const merges = expandExperiment(read).length;
  // Jobs on nodes with another home folder would not trust the commands in the experiment's file.
  const allowServe =
    read.evaluate?.tasks !== undefined &&
    commandsIn(parseEvaluation(read.evaluate, dirname(experiment))).length > 0;
  const written = write({
    experiment,
    out,
    store: store === undefined ? undefined : resolve(store),
    parts: given.parts,
    command: ownCommand(),
    stamp,
    evaluation: evaluate
      ? {
          allowServe,
          parts: given.evaluateParts,
          gpus: given.gpus,
          lmEval: given.lmEval,
          time: given.evaluateTime,
          partition: given.evaluatePartition,
          account: given.evaluateAccount,
          qos: given.evaluateQos,
          directives: given.evaluateDirectives,
          image: given.evaluateImage,
        }
      : undefined,
  });
  print({ merges, out, stamp, ...written }, given);
};

/**
 * @throws TRAINING_INVALID; INVALID_PARAMETER for more parts than runs; USAGE for fewer GPUs than a run needs
 */
const printTraining = async (
  given: OfTraining,
  write: (jobs: TrainingJobParameters) => Printed,
): Promise<void> => {
  const training = resolve(given.directory);
  const { runs } = await readManifest(training);
  const needed = Math.max(...runs.map(({ gpus }) => gpus));
  const { parts = runs.length, gpus = needed } = given;
  if (parts > runs.length)
    throw invalidParameter('parts', parts, `at most ${runs.length}, the number of runs in ${training}`);
  if (gpus !== 0 && gpus < needed)
    throw new LayerloomError('USAGE', {
      reason: `--gpus ${gpus}: the runs in ${training} are written for ${needed}; write them again with train init --devices ${gpus}, or give --gpus 0 where a directive asks for them`,
    });
  const written = write({ training, parts, gpus, command: ownCommand() });
  print({ runs: runs.length, training, parts, gpus, ...written }, given);
};

/** Uses absolute paths of this Node and script, because compute nodes may have another PATH. */
const ownCommand = (): string[] => [process.execPath, realpathSync(itemAt(process.argv, 1))];

const inPods = ({ command = 'layerloom', volumes = [] }: OfKubernetes) => ({
  command: [command],
  volumes: volumes.map(volumeOf),
});

const volumeOf = (given: string): ClaimedVolume => {
  const { claim, path, mode } = /^(?<claim>[^=]+)=(?<path>.+?)(?<mode>:ro)?$/s.exec(given)?.groups ?? {};
  if (claim === undefined || path === undefined)
    throw new LayerloomError('USAGE', {
      reason: `--volume ${given}: expected CLAIM=PATH, such as models=/data`,
    });
  return { claim, path, readOnly: mode !== undefined };
};
