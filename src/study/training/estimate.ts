import { counted, formatBytes, formatSeconds } from '../../core/base/format.js';
import { openModel } from '../../core/models/reading/read-model.js';
import { choices } from './settings/choices.js';
import type { TrainingRun } from './settings/training-run.js';

/** Resources of runs, estimated from the base's shapes before anything is trained. */
export interface TrainingEstimate {
  readonly parameters: number;
  /** Bytes of weights, gradients and AdamW on each device, without activations; null for LoRA. */
  readonly memory: number | null;
  /** Number of checkpoints of all runs, and their bytes. */
  readonly checkpoints: number;
  readonly checkpointBytes: number;
  /** Bytes of AdamW's state, which the last two checkpoints of each run keep. */
  readonly stateBytes: number;
  /** At most, one run after another, since no sample is longer than the sequence length; null on a processor. */
  readonly hours: number | null;
}

/** Ours: 40 % of an H100's 989 TFLOP/s in bfloat16. */
const flopsOfDevice = 0.4 * 989e12;

/** FLOP a parameter and token. Activations are computed again; frozen weights need no gradient. */
const flopsOf = { full: 8, lora: 6 } as const;

/** @returns undefined unless the base is on this machine */
export const estimateOf = async (
  runs: readonly TrainingRun[],
  base: string,
): Promise<TrainingEstimate | undefined> => {
  const tensors = await openModel(base).then(
    (model) => [...model.tensors],
    () => undefined,
  );
  if (tensors === undefined) return undefined;
  const shapes = tensors.map(([name, { shape }]) => ({ name, shape }));
  const parameters = sumOf(shapes.map(({ shape }) => shape.reduce((a, b) => a * b, 1)));
  const trainedIn = ({ lora }: TrainingRun): number =>
    lora === undefined
      ? parameters
      : lora.rank *
        sumOf(
          shapes.flatMap(({ name, shape }) => (isTarget(name) && shape.length === 2 ? [sumOf(shape)] : [])),
        );
  const [run] = runs;
  const countOf = ({ steps, stepsPerCheckpoint }: TrainingRun) => Math.ceil(steps / stepsPerCheckpoint);
  const secondsOf = ({ lora, steps, row, devices }: TrainingRun): number =>
    (flopsOf[lora === undefined ? 'full' : 'lora'] *
      parameters *
      steps *
      row.batchSize *
      row.sequenceLength) /
    (devices * flopsOfDevice);
  return {
    parameters,
    memory: run === undefined || run.lora !== undefined ? null : (16 * parameters) / run.devices,
    checkpoints: sumOf(runs.map(countOf)),
    checkpointBytes: sumOf(runs.map((one) => 4 * trainedIn(one) * countOf(one))),
    stateBytes: sumOf(runs.map((one) => 8 * trainedIn(one) * Math.min(2, countOf(one)))),
    hours: runs.some(({ cpu }) => cpu) ? null : sumOf(runs.map(secondsOf)) / 3600,
  };
};

const sumOf = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

const isTarget = (name: string): boolean =>
  choices.lora.targets.some((target) => name.endsWith(`.${target}.weight`));

/** Says the estimate with its assumptions. */
export const estimateText = (estimate: TrainingEstimate | undefined, devices: number): string => {
  if (estimate === undefined) return 'Disk and hours: not known, since the base is not on this machine.';
  const { memory, checkpoints, checkpointBytes, stateBytes, hours } = estimate;
  return [
    `Disk: ${formatBytes(checkpointBytes + stateBytes)}, for ${counted(checkpoints, 'checkpoint')} (${formatBytes(checkpointBytes)}) and the state of AdamW beside the last two of a run (${formatBytes(stateBytes)}).`,
    ...(memory === null
      ? []
      : [`Memory: ${formatBytes(memory)} on each of ${counted(devices, 'device')}, and activations.`]),
    ...(hours === null
      ? []
      : [
          `Time: at most ${formatSeconds(3600 * hours)}, if ${counted(devices, 'H100')} reach 40 % of 989 TFLOP/s each (assumed, not measured).`,
        ]),
  ].join('\n');
};
