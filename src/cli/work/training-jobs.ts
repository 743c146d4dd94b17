import { posix, resolve } from 'node:path';
import { LayerloomError } from '../../core/base/errors.js';
import { invalidParameter } from '../../core/base/invalid-parameter.js';
import type { TrainingJobParameters } from '../../study/schedulers/jobs.js';
import { type KubernetesTrainingParameters, kubernetesManifest } from '../../study/schedulers/kubernetes.js';
import { type SlurmTrainingParameters, slurmScript } from '../../study/schedulers/slurm.js';
import { type SnakemakeTrainingParameters, snakemakeWorkflow } from '../../study/schedulers/snakemake.js';
import { readManifest } from '../../study/training/manifest.js';
import type { OutputOptions } from '../options/output.js';
import { printJson, printText } from '../print.js';
import { ownCommand, volumeOf } from './where-jobs-run.js';

type Given<Parameters> = Omit<Parameters, keyof TrainingJobParameters> &
  Partial<Pick<TrainingJobParameters, 'parts' | 'gpus' | 'cpus'>> &
  OutputOptions & { readonly directory: string };

export const trainSlurmCommand = async (given: Given<SlurmTrainingParameters>): Promise<void> => {
  const { time, partition, account, qos, memory, directives } = given;
  const { runs, jobs } = await checked(given);
  const script = slurmScript({ ...jobs, time, partition, account, qos, memory, directives });
  print({ runs, ...jobs }, given, { script });
};

export const trainSnakemakeCommand = async (given: Given<SnakemakeTrainingParameters>): Promise<void> => {
  const { time, partition, account, qos, memory, retries } = given;
  const { runs, jobs } = await checked(given);
  const workflow = snakemakeWorkflow({ ...jobs, time, partition, account, qos, memory, retries });
  print({ runs, ...jobs }, given, { workflow });
};

/** Paths are those in the pods. */
export const trainKubernetesCommand = async (
  given: Omit<Given<KubernetesTrainingParameters>, 'volumes'> & {
    readonly volumes?: readonly string[];
    readonly trainingPath?: string;
    readonly command?: string;
  },
): Promise<void> => {
  const { time, memory, image, name, namespace, volumes, trainingPath, command } = given;
  const { runs, jobs: here } = await checked(given);
  const jobs = { ...here, training: posix.resolve(trainingPath ?? here.training) };
  const manifest = kubernetesManifest({
    ...jobs,
    time,
    memory,
    image,
    name,
    namespace,
    command: [command ?? 'layerloom'],
    volumes: (volumes ?? []).map(volumeOf),
  });
  print({ runs, ...jobs }, given, { manifest });
};

type CheckedJobs = Required<Pick<TrainingJobParameters, 'training' | 'parts' | 'gpus' | 'command'>> & {
  readonly cpus: number | undefined;
};

/**
 * @throws LayerloomError TRAINING_INVALID; INVALID_PARAMETER for more parts than runs; USAGE for fewer GPUs
 *   than a run needs
 */
const checked = async (
  given: Pick<Given<TrainingJobParameters>, 'directory' | 'parts' | 'gpus' | 'cpus'>,
): Promise<{ readonly runs: number; readonly jobs: CheckedJobs }> => {
  const training = resolve(given.directory);
  const { runs } = await readManifest(training);
  const needed = Math.max(...runs.map(({ gpus }) => gpus));
  const { parts = runs.length, gpus = needed, cpus } = given;
  if (parts > runs.length)
    throw invalidParameter('parts', parts, `at most ${runs.length}, the number of runs in ${training}`);
  if (gpus !== 0 && gpus < needed)
    throw new LayerloomError('USAGE', {
      reason: `--gpus ${gpus}: the runs in ${training} are written for ${needed}; write them again with train init --devices ${gpus}, or give --gpus 0 where a directive asks for them`,
    });
  return { runs: runs.length, jobs: { training, parts, gpus, cpus, command: ownCommand() } };
};

const print = (
  { runs, training, parts, gpus }: CheckedJobs & { readonly runs: number },
  { json }: OutputOptions,
  text: Readonly<Record<string, string>>,
): void => {
  if (json) printJson({ runs, training, parts, gpus, ...text });
  else printText(Object.values(text).join('').trimEnd());
};
