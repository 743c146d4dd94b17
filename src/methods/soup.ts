import * as z from 'zod';
import type { Expression } from '../operations/expression.js';
import { schemaOf } from './framework/declared.js';
import type { Method } from './framework/method.js';
import { modelSoups } from './framework/papers.js';
import {
  magnitudeNotes,
  magnitudeStatistics,
  magnitudeWeights,
  modelSchema,
  normalise,
  repeatableWeights,
  resolvedWeights,
  weightingSchema,
} from './framework/parameters.js';
import type { ModelInput } from './framework/recipe-input.js';

/** Parameters of `soup` (paper §5). */
export interface SoupParameters {
  /** The models to average, at least one. The first gives names, dtypes and side files. */
  models: readonly ModelInput[];
  /**
   * The model that all were fine-tuned from: checked against them, and named in the model card. `weights:
   * 'magnitude'` needs it.
   */
  base?: ModelInput | undefined;
  /**
   * One weight a model, in their order, divided by their sum, which must not be 0; or `magnitude`, 1 / mean
   * MAV of each task vector. Default: all 1.
   */
  weights?: readonly number[] | 'magnitude' | undefined;
}

const schema = schemaOf<SoupParameters>()(
  z
    .strictObject({
      models: z.array(modelSchema, { error: 'a list of models' }).min(1, { error: 'at least one model' }),
      base: modelSchema.optional(),
      weights: weightingSchema.optional(),
    })
    .refine(({ models, weights = models }) => weights === 'magnitude' || weights.length === models.length, {
      path: ['weights'],
      error: 'one weight for each model, in their order',
    }),
);

type Parameters = z.output<typeof schema>;

/**
 * Model soup (Wortsman et al. 2022; paper §5): every tensor is Σ wᵢθᵢ / Σ wᵢ over the models, uniform unless
 * weights are given.
 */
export const soup: Method<Parameters> = {
  name: 'soup',
  title: 'Soup',
  citations: [modelSoups],
  schema,
  tags: ['model-soup'],
  takes: { base: 'optional', models: 'list' },
  keepsCard: false,
  needsLayers: false,
  models: ({ models }) => models.map((model, index) => ({ role: 'model', model, path: ['models', index] })),
  companions: ({ base }) => (base === undefined ? [] : [{ role: 'base', model: base }]),
  statistics: ({ models, weights, base }) =>
    weights === 'magnitude' ? magnitudeStatistics(base, models) : undefined,
  compile: ({ models, weights = models.map(() => 1) }, { taskVectors }) => {
    const used = weights === 'magnitude' ? magnitudeWeights(taskVectors) : weights;
    const terms = normalise(used).map((weight, index) => ({ source: { model: index }, weight }));
    const average: Expression = { kind: 'linear', terms };
    return {
      resolved: resolvedWeights(weights, used),
      again: { weights: weights === 'magnitude' ? repeatableWeights(used) : weights },
      expressionOf: () => average,
    };
  },
  notes: magnitudeNotes,
};
