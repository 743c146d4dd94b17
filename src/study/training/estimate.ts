import { LayerloomError, reasonOf } from '../../core/base/errors/errors.js';
import { adaptedBy } from '../../core/measure/partition/partition.js';
import { openModel } from '../../core/models/reading/read-model.js';
import { elementsOf, type Shape } from '../../core/tensor/reference.js';
import { choices } from './settings/choices.js';
import { canResume } from './settings/resume.js';
import type { TrainingRun } from './settings/training-run.js';

/** Resources of runs, estimated from the base's shapes before anything is trained. */
export interface TrainingEstimate {
  readonly parameters: number;
  /** Bytes of weights, gradients and AdamW on each device, without activations; null for LoRA. */
  readonly memory: number | null;
  /** Number of checkpoints of all runs, and their bytes; null if no tensor has a name that LoRA adapts. */
  readonly checkpoints: number;
  readonly checkpointBytes: number | null;
  /** Bytes of AdamW's state, which the last two checkpoints keep of each run that can resume. */
  readonly stateBytes: number | null;
  /** Runs follow one another, samples are full, and products of attention are left out; null on a processor. */
  readonly hours: number | null;
}

/** Ours: 40 % of an H100's 989 TFLOP/s in bfloat16. */
const flopsOfDevice = 0.4 * 989e12;

/** FLOP a parameter and token. Activations are computed again; frozen weights need no gradient. */
const flopsOf = { full: 8, lora: 6 } as const;

/** @returns why not, unless the base can be read on this machine */
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

/** Returns how many parameters a run trains: all, a side of its partition, or LoRA's factors. */
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
