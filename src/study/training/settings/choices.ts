export const trainers = ['trl', 'axolotl', 'llama-factory'] as const;
export type Trainer = (typeof trainers)[number];

export const trainingMethods = ['full', 'lora'] as const;

/** Ways of modular fine-tuning (follow-up paper); for layer swapping, `plain`: all parameters are trained. */
export const trainingWays = ['plain', 'revert', 'freeze', 'simultaneous'] as const;
export type TrainingWay = (typeof trainingWays)[number];

/** Values that trainers need but neither paper states, chosen by us. */
export const choices = {
  base: 'meta-llama/Llama-3.1-8B',
  /** Samples of a run; the paper says 30 to 40 thousand. */
  samples: 40_000,
  /** Samples between checkpoints, from the paper; a multiple of the batch size. */
  checkpointEvery: 5_000,
  beta1: 0.9,
  epsilon: 1e-8,
  /** Share of the steps in which WSD decays linearly to zero. */
  decayShare: 0.1,
  lora: {
    rank: 16,
    alphaPerRank: 2,
    dropout: 0.05,
    targets: ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'],
    /** Factor by which LoRA's learning rate exceeds Table 4's: 1e-7 becomes 1e-4, which is usual for LoRA. */
    learningRateFactor: 1000,
  },
  /** Devices for full fine-tuning of 8B in float32: 16 bytes per parameter, 128 GB in all. */
  devices: { full: 4, lora: 1 },
  /** Values for the user's own small files. */
  own: { samples: 2_000, checkpoints: 4, warmupShare: 0.1 },
  /** Row of Table 4 for presets without a row: the paper's best expert in math. */
  rowOfBaselines: 'math-2',
} as const;
