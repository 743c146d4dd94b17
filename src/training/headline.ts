import { choices } from './choices.js';
import { numberText } from './settings.js';
import type { TrainingRun } from './training-run.js';

/** The first lines of every configuration of a run. */
export const headlineOf = (run: TrainingRun): string[] => [
  run.preset.title,
  '',
  'Notes beside the values: "Table 4" is printed in the paper; "paper" is in its text; "ours" is in neither.',
  ...(run.preset.expert === undefined
    ? [
        `The paper prints no row for this run; where a note says "Table 4" it is that of ${choices.rowOfBaselines} (ours).`,
      ]
    : []),
];

/** Notes that more than one trainer's configuration has. */
export const notes = {
  fullPrecision: 'ours: steps of 1e-7 vanish when bfloat16 weights are updated, so the weights stay float32',
  beta1: 'ours: AdamW, its usual first beta',
  warmup: 'Table 4; that its unit is steps is ours',
  packing: 'ours: one sample a row, so that 5000 samples are 5000 rows',
  masking: 'ours: no loss on the prompt',
  checkpoints: 'paper: every 5000 samples',
  devices: (run: TrainingRun): string =>
    `Table 4: batch ${run.row.batchSize}; over ${run.devices} ${run.devices === 1 ? 'device' : 'devices'} (ours)`,
  steps: (run: TrainingRun): string =>
    `${run.mix.parts.reduce((sum, { samples }) => sum + samples, 0)} samples; paper: 30 to 40 thousand${run.mix.parts.length > 1 ? ' of each kind' : ''}`,
  learningRate: (run: TrainingRun): string =>
    run.lora === undefined
      ? 'Table 4'
      : `ours: Table 4's ${numberText(run.row.learningRate)} × ${choices.lora.learningRateFactor}; ${numberText(run.row.learningRate)} is far too small for LoRA`,
  decay: `ours: WSD decays linearly to 0 in the last ${choices.decayShare * 100} % of the steps`,
  checkpointSize:
    "ours: without the optimiser's state, 8 bytes a parameter; false to resume from checkpoints",
  checkpointing: 'ours: recomputes activations, to save memory',
} as const;
