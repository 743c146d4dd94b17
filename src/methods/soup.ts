import { z } from 'zod';
import type { Expression } from '../operations/expression.js';
import type { Method } from './framework/method.js';
import {
  magnitudeWeights,
  modelSchema,
  normalise,
  requireBase,
  resolvedWeights,
  weightingSchema,
} from './framework/parameters.js';

const schema = z
  .strictObject({
    models: z.array(modelSchema, { error: 'a list of models' }).min(1, { error: 'at least one model' }),
    base: modelSchema.optional(),
    weights: weightingSchema.optional(),
  })
  .refine(({ models, weights = models }) => weights === 'magnitude' || weights.length === models.length, {
    path: ['weights'],
    error: 'one weight for each model, in their order',
  });

export type SoupParameters = z.input<typeof schema>;

type Parameters = z.output<typeof schema>;

/**
 * Model soup (Wortsman et al. 2022; paper §5): every tensor is Σ wᵢθᵢ / Σ wᵢ over the models, uniform unless weights are given.
 */
export const soup: Method<Parameters> = {
  name: 'soup',
  title: 'Soup',
  schema,
  tags: ['model-soup'],
  keepsCard: false,
  needsLayers: false,
  models: ({ models }) => models.map((model, index) => ({ role: 'model', model, path: ['models', index] })),
  companions: ({ base }) => (base === undefined ? [] : [{ role: 'base', model: base }]),
  statistics: ({ models, weights, base }) =>
    weights === 'magnitude'
      ? { base: requireBase(base), experts: models, what: { kind: 'rows', rows: 'input' } }
      : undefined,
  compile: ({ models, weights = models.map(() => 1) }, { taskVectors }) => {
    const used = weights === 'magnitude' ? magnitudeWeights(taskVectors) : weights;
    const terms = normalise(used).map((weight, index) => ({ source: { model: index }, weight }));
    const average: Expression = { kind: 'linear', terms };
    return { resolved: resolvedWeights(weights, used), expressionOf: () => average };
  },
};
