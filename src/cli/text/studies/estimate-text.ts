import { counted, formatBytes, formatSeconds } from '../../../core/base/format.js';
import type { TrainingEstimate } from '../../../study/training/estimate.js';

export const estimateText = (estimate: TrainingEstimate | string, devices: number): string => {
  if (typeof estimate === 'string') return `Disk and time: unknown, because ${estimate}.`;
  const { memory, checkpoints, checkpointBytes, stateBytes, hours } = estimate;
  return [
    checkpointBytes === null || stateBytes === null
      ? 'Disk: unknown, because LoRA would adapt no module of the base.'
      : `Disk: ${formatBytes(checkpointBytes + stateBytes)}, for ${counted(checkpoints, 'checkpoint')} (${formatBytes(checkpointBytes)})${stateBytes === 0 ? ', without the state of AdamW' : ` and the state of AdamW for the last two of each run (${formatBytes(stateBytes)})`}.`,
    ...(memory === null
      ? []
      : [`Memory: ${formatBytes(memory)} on each of ${counted(devices, 'device')}, plus activations.`]),
    ...(hours === null
      ? []
      : [
          `Time: about ${formatSeconds(3600 * hours)} without attention products, if samples have the full length and ${counted(devices, 'H100')} ${devices === 1 ? 'reaches' : 'reach'} 40 % of 989 TFLOP/s each (assumed, not measured).`,
        ]),
  ].join('\n');
};
