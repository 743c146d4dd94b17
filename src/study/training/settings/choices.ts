export const trainers = ['trl', 'axolotl', 'llama-factory'] as const;
export type Trainer = (typeof trainers)[number];

export const trainingMethods = ['full', 'lora'] as const;

/** Ways of modular fine-tuning (the follow-up); `plain` trains all parameters, for layer swapping. */
export const trainingWays = ['plain', 'revert', 'freeze', 'simultaneous'] as const;
export type TrainingWay = (typeof trainingWays)[number];

/** The project's own choices for values that trainers need and neither paper states. */
export const choices = {
  base: 'meta-llama/Llama-3.1-8B',
  /** Samples of a run; the paper says 30 to 40 thousand. */
  samples: 40_000,
  /** Samples between checkpoints, from the paper; batches must divide it. */
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
    /** LoRA's learning rate divided by that of Table 4: 1e-7 becomes 1e-4, as is usual for LoRA. */
    learningRateFactor: 1000,
  },
  /** Devices for full fine-tuning of 8B in float32: 16 bytes a parameter, 128 GB in all. */
  devices: { full: 4, lora: 1 },
  /** Values for small files of the user: number of samples and of checkpoints, and share of warm-up steps. */
  own: { samples: 2_000, checkpoints: 4, warmupShare: 0.1 },
  /** Presets without a row in Table 4 use the row of this expert, the paper's best in math. */
  rowOfBaselines: 'math-2',
} as const;
