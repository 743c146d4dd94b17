import { z } from 'zod';
import type { Expression, Method } from './method.js';
import { modelSchema, normalise, weightsSchema } from './parameters.js';

const schema = z
  .strictObject({
    models: z.array(modelSchema, { error: 'a list of models' }).min(1, { error: 'at least one model' }),
    base: modelSchema.optional(),
    weights: weightsSchema.optional(),
  })
  .refine(({ models, weights = models }) => weights.length === models.length, {
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
  models: ({ models }) => models.map((path) => ({ role: 'model', model: path })),
  companions: ({ base }) => (base === undefined ? [] : [{ role: 'base', model: base }]),
  compile: ({ models, weights = models.map(() => 1) }) => {
    const terms = normalise(weights).map((weight, index) => ({ model: index, weight }));
    const average: Expression = { kind: 'linear', terms };
    return { resolved: { weights }, expressionOf: () => average };
  },
};
