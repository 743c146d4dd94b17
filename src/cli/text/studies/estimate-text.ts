import { counted, formatBytes, formatSeconds } from '../../../core/base/format.js';
import type { TrainingEstimate } from '../../../study/training/estimate.js';

/** States the estimate and its assumptions. */
export const estimateText = (estimate: TrainingEstimate | string, devices: number): string => {
  if (typeof estimate === 'string') return `Disk and hours: not known: ${estimate}.`;
  const { memory, checkpoints, checkpointBytes, stateBytes, hours } = estimate;
  return [
    checkpointBytes === null || stateBytes === null
      ? 'Disk: not known, since no module of the base has a name that LoRA adapts here.'
      : `Disk: ${formatBytes(checkpointBytes + stateBytes)}, for ${counted(checkpoints, 'checkpoint')} (${formatBytes(checkpointBytes)})${stateBytes === 0 ? ', without the state of AdamW' : ` and the state of AdamW beside the last two of a run (${formatBytes(stateBytes)})`}.`,
    ...(memory === null
      ? []
      : [`Memory: ${formatBytes(memory)} on each of ${counted(devices, 'device')}, and activations.`]),
    ...(hours === null
      ? []
      : [
          `Time: about ${formatSeconds(3600 * hours)} without attention's products, if samples are full and ${counted(devices, 'H100')} ${devices === 1 ? 'reaches' : 'reach'} 40 % of 989 TFLOP/s each (assumed, not measured).`,
        ]),
  ].join('\n');
};
