import type { TrainingRow } from '../training/settings/preset.js';

type Cells = readonly [
  learningRate: number,
  batchSize: number,
  sequenceLength: number,
  weightDecay: number,
  maxGradNorm: number,
  schedule: TrainingRow['schedule'],
  warmup: number,
  beta2: number,
];

const row = ([learningRate, batchSize, sequenceLength, weightDecay, ...rest]: Cells): TrainingRow => {
  const [maxGradNorm, schedule, warmup, beta2] = rest;
  return { learningRate, batchSize, sequenceLength, weightDecay, maxGradNorm, schedule, warmup, beta2 };
};

/** Table 4 of arXiv 2410.01335: the runs of the fifteen experts. */
export const expertRuns = {
  'math-1': row([2.0e-8, 4, 2048, 0.1, 1.0, 'linear', 1000, 0.99]),
  'math-2': row([1.0e-7, 4, 2048, 0.01, 0.5, 'linear', 1000, 0.99]),
  'math-3': row([4.0e-8, 4, 2048, 0.1, 1.0, 'linear', 500, 0.999]),
  'jpn-1': row([1.0e-7, 8, 1024, 0.1, 0.5, 'wsd', 1000, 0.995]),
  'jpn-2': row([1.0e-7, 8, 1024, 0.1, 0.5, 'wsd', 1000, 0.99]),
  'jpn-3': row([2.0e-7, 8, 1024, 0.01, 0.5, 'wsd', 1000, 0.99]),
  'swh-1': row([7.0e-8, 8, 1024, 0.1, 0.5, 'wsd', 1000, 0.99]),
  'swh-2': row([2.0e-7, 8, 1024, 0.05, 0.5, 'wsd', 1000, 0.99]),
  'swh-3': row([1.0e-7, 8, 1024, 0.1, 1.0, 'wsd', 1000, 0.999]),
  'tel-1': row([7.0e-8, 8, 1024, 0.1, 0.5, 'wsd', 1000, 0.99]),
  'tel-2': row([5.0e-8, 8, 1024, 0.05, 0.5, 'wsd', 300, 0.99]),
  'tel-3': row([1.0e-7, 4, 2048, 0.1, 0.5, 'wsd', 1000, 0.99]),
  'ben-1': row([7.0e-8, 8, 1024, 0.1, 0.5, 'wsd', 1000, 0.99]),
  'ben-2': row([5.0e-8, 8, 1024, 0.05, 0.5, 'wsd', 300, 0.99]),
  'ben-3': row([1.0e-7, 4, 2048, 0.1, 0.5, 'wsd', 1000, 0.99]),
} as const satisfies Readonly<Record<string, TrainingRow>>;
