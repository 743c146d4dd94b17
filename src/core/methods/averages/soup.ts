import * as z from 'zod';
import { schemaOf } from '../framework/declaration/declared.js';
import type { Method } from '../framework/declaration/method.js';
import { modelSoups } from '../framework/declaration/papers.js';
import {
  countOf,
  magnitudeStatistics,
  magnitudeWeights,
  modelSchema,
  normalise,
  repeatableWeights,
  resolvedWeights,
  weightingSchema,
  weightNotes,
} from '../framework/declaration/parameters.js';
import type { ModelInput } from '../framework/declaration/recipe-input.js';
import {
  citationsOf,
  type Decay,
  decayNames,
  defaultSettings,
  type Schedule,
  type ScheduleSettings,
  scheduleNames,
  scheduleWeights,
  settingOf,
} from '../framework/declaration/schedules.js';
import type { Expression } from '../operations/expression.js';

/** Parameters of `soup` (paper §5). */
export interface SoupParameters {
  /**
   * Models to average; the first gives names, dtypes and side files. With `schedule`: a run's checkpoints,
   * oldest first, or the run's folder.
   */
  models: readonly ModelInput[];
  /** The common base: checked and named in the card, not merged. Required for `weights: 'magnitude'`. */
  base?: ModelInput | undefined;
  /** A weight per model, divided by their sum; or `magnitude`: 1 / mean MAV. Default: all 1. */
  weights?: readonly number[] | 'magnitude' | undefined;
  /**
   * Replaces `weights`: `uniform`, `ema` (exponential moving average) or `wsm` (imitates a decay of the
   * learning rate, arXiv 2507.17634).
   */
  schedule?: Schedule | undefined;
  /** For `wsm`: the decay's shape, `linear` (uniform average), `cosine` or `1-sqrt`. Default `1-sqrt`. */
  decay?: Decay | undefined;
  /** For `ema`: each newer checkpoint's share in the average, between 0 and 1. Default 0.2. */
  alpha?: number | undefined;
  /** How many of a run's last checkpoints to average. Default: all. */
  window?: number | undefined;
  /** The step of a run's last checkpoint to average. Default: the run's last. */
  until?: number | undefined;
}

const betweenZeroAndOne = 'a number between 0 and 1';

const schema = schemaOf<SoupParameters>()(
  z
    .strictObject({
      models: z.array(modelSchema, { error: 'a list of models' }).min(1, { error: 'at least one model' }),
      base: modelSchema.optional(),
      weights: weightingSchema.optional(),
      schedule: z.enum(scheduleNames, { error: scheduleNames.join(', ') }).optional(),
      decay: z.enum(decayNames, { error: decayNames.join(', ') }).optional(),
      alpha: z
        .number({ error: betweenZeroAndOne })
        .gt(0, { error: betweenZeroAndOne })
        .lt(1, { error: betweenZeroAndOne })
        .optional(),
      window: countOf('checkpoints').min(1, { error: '1 checkpoint or more' }).optional(),
      until: countOf('steps').optional(),
    })
    .refine(({ weights, schedule }) => weights === undefined || schedule === undefined, {
      path: ['schedule'],
      error: 'nothing beside weights, which it would give',
    })
    .refine(({ models, weights = models }) => weights === 'magnitude' || weights.length === models.length, {
      path: ['weights'],
      error: 'one weight for each model, in their order',
    })
    .superRefine((given, context) => {
      for (const name of ['decay', 'alpha'] as const)
        if (given[name] !== undefined && (given.schedule === undefined || settingOf(given.schedule) !== name))
          context.addIssue({
            code: 'custom',
            path: [name],
            message: `nothing, unless schedule is ${scheduleNames.filter((of) => settingOf(of) === name).join(' or ')}`,
          });
      for (const name of ['window', 'until'] as const)
        if (given[name] !== undefined && (given.schedule === undefined || given.models.length !== 1))
          context.addIssue({
            code: 'custom',
            path: [name],
            message: 'nothing, unless there is a schedule and the one model is the folder of a run',
          });
    }),
);

type Parameters = z.output<typeof schema>;

const usedSettings = ({ decay, alpha }: Parameters): ScheduleSettings => ({
  decay: decay ?? defaultSettings.decay,
  alpha: alpha ?? defaultSettings.alpha,
});

const resolvedSchedule = (schedule: Schedule, used: readonly number[], settings: ScheduleSettings) => {
  const setting = settingOf(schedule);
  return {
    schedule,
    ...(setting === undefined ? {} : { [setting]: settings[setting] }),
    schedule_weights: normalise(used),
  };
};

/** Model soup (Wortsman et al. 2022; paper §5): every tensor is Σ wᵢθᵢ / Σ wᵢ; uniform by default. */
export const soup: Method<Parameters> = {
  name: 'soup',
  title: 'Soup',
  citations: ({ schedule }) => (schedule === undefined ? [modelSoups] : citationsOf(schedule)),
  schema,
  tags: ['model-soup'],
  takes: { base: 'optional', models: 'list' },
  keepsCard: false,
  needsLayers: false,
  models: ({ models }) => models.map((model, index) => ({ role: 'model', model, path: ['models', index] })),
  companions: ({ base }) => (base === undefined ? [] : [{ role: 'base', model: base }]),
  statistics: ({ models, weights, base }) =>
    weights === 'magnitude' ? magnitudeStatistics(base, models) : undefined,
  compile: (parameters, { taskVectors }) => {
    const { models, schedule, weights = models.map(() => 1) } = parameters;
    const settings = usedSettings(parameters);
    const used =
      schedule !== undefined
        ? scheduleWeights(schedule, models.length, settings)
        : weights === 'magnitude'
          ? magnitudeWeights(taskVectors)
          : weights;
    const terms = normalise(used).map((weight, index) => ({ source: { model: index }, weight }));
    const average: Expression = { kind: 'linear', terms };
    const isGiven = schedule === undefined && weights !== 'magnitude';
    return {
      resolved:
        schedule === undefined ? resolvedWeights(weights, used) : resolvedSchedule(schedule, used, settings),
      again: { weights: isGiven ? weights : repeatableWeights(used) },
      expressionOf: () => average,
    };
  },
  notes: weightNotes,
};
