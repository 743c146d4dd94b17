import { LayerloomError, reasonOf } from '../../core/base/errors/errors.js';
import { adaptedBy } from '../../core/measure/partition/partition.js';
import { openModel } from '../../core/models/reading/read-model.js';
import { elementsOf, type Shape } from '../../core/tensor/reference.js';
import { choices } from './settings/choices.js';
import { canResume } from './settings/resume.js';
import type { TrainingRun } from './settings/training-run.js';

/** Resources of runs, estimated before training from the base's shapes. */
export interface TrainingEstimate {
  readonly parameters: number;
  /** Bytes of weights, gradients and AdamW state per device, without activations; null for LoRA. */
  readonly memory: number | null;
  /** Number and bytes of all runs' checkpoints. Bytes are null if LoRA would adapt no tensor of the base. */
  readonly checkpoints: number;
  readonly checkpointBytes: number | null;
  /** Bytes of AdamW's state, kept with the last two checkpoints of each run that can resume. */
  readonly stateBytes: number | null;
  /** Hours if runs follow one another and samples are full, without attention products; null on a CPU. */
  readonly hours: number | null;
}

/** Assumed speed of a device: 40 % of an H100's 989 TFLOP/s in bfloat16. */
const flopsOfDevice = 0.4 * 989e12;

/** FLOP per parameter and token. Activations are recomputed; frozen weights need no gradients. */
const flopsOf = { full: 8, lora: 6 } as const;

/** @returns the reason if the base cannot be read on this machine */
export const estimateOf = async (
  runs: readonly TrainingRun[],
  base: string,
): Promise<TrainingEstimate | string> => {
  const tensors = await openModel(base).then(
    (model) => [...model.tensors],
    (error: unknown) =>
      error instanceof LayerloomError && error.code === 'MODEL_NOT_FOUND'
        ? 'the base is not on this machine'
        : reasonOf(error),
  );
  if (typeof tensors === 'string') return tensors;
  const shapes = new Map(tensors.map(([name, { shape }]) => [name, shape] as const));
  const parameters = sumOf([...shapes.values()].map(elementsOf));
  const trainedIn = (one: TrainingRun) => trainedParameters(one, shapes, parameters);
  const [run] = runs;
  const countOf = ({ steps, stepsPerCheckpoint }: TrainingRun) => Math.ceil(steps / stepsPerCheckpoint);
  const secondsOf = ({ lora, steps, row, devices }: TrainingRun): number =>
    (flopsOf[lora === undefined ? 'full' : 'lora'] *
      parameters *
      steps *
      row.batchSize *
      row.sequenceLength) /
    (devices * flopsOfDevice);
  const isKnown = runs.every((one) => trainedIn(one) > 0);
  return {
    parameters,
    memory:
      run === undefined || run.lora !== undefined
        ? null
        : (4 * parameters + 12 * trainedIn(run)) / run.devices,
    checkpoints: sumOf(runs.map(countOf)),
    checkpointBytes: isKnown
      ? sumOf(runs.map((one) => 4 * (one.lora === undefined ? parameters : trainedIn(one)) * countOf(one)))
      : null,
    stateBytes: isKnown
      ? sumOf(runs.map((one) => (canResume(one) ? 8 * trainedIn(one) * Math.min(2, countOf(one)) : 0)))
      : null,
    hours: runs.some(({ cpu }) => cpu) ? null : sumOf(runs.map(secondsOf)) / 3600,
  };
};

/** Counts trained parameters: all, a side of the partition, or LoRA's factors. */
const trainedParameters = (
  { lora, part }: TrainingRun,
  shapes: ReadonlyMap<string, Shape>,
  all: number,
): number => {
  const { partition, side } = part ?? {};
  if (lora !== undefined) {
    const targets =
      partition === undefined || side === undefined
        ? choices.lora.targets.map((target) => `.${target}.weight`)
        : adaptedBy(partition, side).map((module) => `${module}.weight`);
    const adapted = [...shapes].filter(
      ([name, shape]) => shape.length === 2 && targets.some((target) => name.endsWith(target)),
    );
    return lora.rank * sumOf(adapted.map(([, shape]) => sumOf(shape)));
  }
  if (partition === undefined) return all;
  const { task, language, both } = partition.parameters;
  return both + (side === undefined ? task + language : partition.parameters[side]);
};

const sumOf = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
