import { choices } from './choices.js';
import type { TrainingRow } from './preset.js';
import { numberText, ours, printed } from './settings.js';
import type { TrainingRun } from './training-run.js';

export const headlineOf = (run: TrainingRun): string[] => [
  run.preset.title,
  '',
  'Notes beside the values: "Table 4": from this table of the paper; "paper": from its text; "ours": from neither.',
  ...(Object.keys(run.values).length > 0 ? ['"set" was set for this run.'] : []),
  ...(run.preset.expert === undefined && !run.preset.isOwnRow
    ? [
        `The paper has no row for this run; "Table 4" means the row of ${choices.rowOfBaselines}, chosen by us.`,
      ]
    : []),
];

const set = 'set';

export const sourceOf = ({ values, preset }: TrainingRun, key: keyof TrainingRow): string => {
  if (values[key] !== undefined) return set;
  return preset.isOwnRow ? ours() : printed;
};

export const notes = {
  fullPrecision: 'ours: steps of 1e-7 vanish when bfloat16 weights are updated, so the weights stay float32',
  beta1: 'ours: AdamW, its usual first beta',
  warmup: (run: TrainingRun): string => {
    if (run.values.warmup !== undefined) return set;
    if (run.preset.isOwnRow) return ours(`${choices.own.warmupShare * 100} % of the steps`);
    return 'Table 4, which states no unit: steps are ours';
  },
  packing: 'ours: one sample a row, so that 5000 samples are 5000 rows',
  masking: 'ours: no loss on the prompt',
  checkpoints: (run: TrainingRun): string => {
    if (run.values.checkpointEvery !== undefined) return set;
    return run.preset.isOwnRow
      ? ours(`${choices.own.checkpoints} checkpoints a run`)
      : 'paper: every 5000 samples';
  },
  devices: (run: TrainingRun): string =>
    `${sourceOf(run, 'batchSize')}: batch ${run.row.batchSize}; over ${run.devices} ${run.devices === 1 ? 'device' : 'devices'} (ours)`,
  steps: (run: TrainingRun): string =>
    `${run.mix.parts.reduce((sum, { samples }) => sum + samples, 0)} samples; ${run.preset.isOwnRow ? 'ours' : `paper: 30 to 40 thousand${run.mix.parts.length > 1 ? ' of each kind' : ''}`}`,
  learningRate: (run: TrainingRun): string =>
    run.lora === undefined || run.values.learningRate !== undefined
      ? sourceOf(run, 'learningRate')
      : `ours: ${run.preset.isOwnRow ? '' : "Table 4's "}${numberText(run.row.learningRate)} × ${choices.lora.learningRateFactor}; ${numberText(run.row.learningRate)} is far too small for LoRA`,
  decay: `ours: WSD decays linearly to 0 in the last ${choices.decayShare * 100} % of the steps`,
  state:
    "ours: with the optimiser's state, so that train.sh can resume; it is kept for the last two checkpoints",
  noState: 'ours: one process would save only its own share of the state, so this training cannot resume',
  checkpointing: 'ours: recomputes activations, to save memory',
} as const;
