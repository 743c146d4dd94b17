import type { Citation } from './method.js';
import { checkpointMerging, modelSoups, pretrainedAveraging } from './papers.js';

// Weights of a run's checkpoints, oldest first. Imports no library: the command line imports names from here.

/** The learning rate after a share x of the decay, relative to its peak. */
const decays = {
  linear: (x: number) => 1 - x,
  cosine: (x: number) => (1 + Math.cos(Math.PI * x)) / 2,
  '1-sqrt': (x: number) => 1 - Math.sqrt(x),
} as const;

export type Decay = keyof typeof decays;

export interface ScheduleSettings {
  readonly decay: Decay;
  readonly alpha: number;
}

export const defaultSettings: ScheduleSettings = { decay: '1-sqrt', alpha: 0.2 };

interface ScheduleKind {
  readonly weights: (count: number, settings: ScheduleSettings) => number[];
  readonly citations: readonly Citation[];
  readonly takes?: keyof ScheduleSettings;
}

const each = (count: number, weightOf: (index: number) => number): number[] =>
  Array.from({ length: count }, (_, index) => weightOf(index));

const kinds = {
  uniform: {
    weights: (count) => each(count, () => 1 / count),
    citations: [modelSoups],
  },
  // Mₙ = (1 − α) Mₙ₋₁ + α θₙ, starting with M₁ = θ₁ (arXiv 2505.12082).
  ema: {
    weights: (count, { alpha }) =>
      each(count, (index) => (index === 0 ? 1 : alpha) * (1 - alpha) ** (count - 1 - index)),
    citations: [pretrainedAveraging],
    takes: 'alpha',
  },
  // Σ cⱼ θₙ₊ⱼ = θₙ − Σ wᵢ gᵢ with wᵢ = Σ_{j≥i} cⱼ, so cⱼ = wⱼ − wⱼ₊₁ and w₀ = 1 (arXiv 2507.17634). For m
  // checkpoints wᵢ = f(i/m): a linear decay gives the uniform average.
  wsm: {
    weights: (count, { decay }) =>
      each(count, (index) => decays[decay](index / count) - decays[decay]((index + 1) / count)),
    citations: [checkpointMerging],
    takes: 'decay',
  },
} as const satisfies Readonly<Record<string, ScheduleKind>>;

export type Schedule = keyof typeof kinds;

const namesOf = <Name extends string>(table: Readonly<Record<Name, unknown>>) =>
  Object.keys(table) as [Name, ...Name[]];

export const scheduleNames = namesOf<Schedule>(kinds);
export const decayNames = namesOf<Decay>(decays);

const kindOf = (schedule: Schedule): ScheduleKind => kinds[schedule];

export const settingOf = (schedule: Schedule): keyof ScheduleSettings | undefined => kindOf(schedule).takes;

export const citationsOf = (schedule: Schedule): readonly Citation[] => kindOf(schedule).citations;

/** Returns weights in float64, oldest first. They sum to 1 within rounding. */
export const scheduleWeights = (schedule: Schedule, count: number, settings: ScheduleSettings): number[] =>
  kindOf(schedule).weights(count, settings);
