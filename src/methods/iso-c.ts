import * as z from 'zod';
import { itemAt } from '../base/lookup.js';
import type { Expression } from '../operations/expression.js';
import { isFloating } from '../tensor/dtype.js';
import { schemaOf } from './framework/declared.js';
import type { Method } from './framework/method.js';
import { isotropicMerging } from './framework/papers.js';
import { modelSchema } from './framework/parameters.js';
import type { ModelInput } from './framework/recipe-input.js';

/** Parameters of `iso_c`. */
export interface IsoCParameters {
  /** The models to merge, two or more. */
  models: readonly ModelInput[];
  /** The model that all were fine-tuned from. It gives names, dtypes and side files. */
  base: ModelInput;
  /** Factor λ of what is added to the base. Default 1. */
  lambda?: number | undefined;
}

const schema = schemaOf<IsoCParameters>()(
  z.strictObject({
    models: z.array(modelSchema, { error: 'a list of models' }).min(2, { error: 'two models or more' }),
    base: modelSchema,
    lambda: z.number({ error: 'a number' }).default(1),
  }),
);

type Parameters = z.output<typeof schema>;

/**
 * Iso-C (Marczak et al. 2025): to each matrix in a layer of the base the sum of the task vectors is added with all of its
 * singular values replaced by their mean, times λ; to other tensors (embeddings, head, norms, biases, tables that are not
 * called `weight`, convolutions, stacks of experts) the mean of the task vectors, times λ.
 */
export const isoC: Method<Parameters> = {
  name: 'iso_c',
  title: 'Iso-C',
  citations: [isotropicMerging],
  schema,
  tags: ['iso-c'],
  takes: { base: 'required', models: 'list' },
  keepsCard: false,
  needsLayers: true,
  standsAlone: true,
  models: ({ base, models }) => [
    { role: 'base', model: base },
    ...models.map((model, index) => ({ role: 'model', model, path: ['models', index] })),
  ],
  companions: () => [],
  compile: ({ models, lambda }, { models: views }) => {
    const { tensors } = itemAt(views, 0);
    const base = { model: 0 };
    const sources = models.map((_, index) => ({ model: index + 1 }));
    const averaged: Expression = {
      kind: 'linear',
      terms: [
        { source: base, weight: 1 - lambda },
        ...sources.map((source) => ({ source, weight: lambda / models.length })),
      ].filter(({ weight }) => weight !== 0),
    };
    const isotropic: Expression = { kind: 'spectral', rule: 'iso_c', base, sources, scale: lambda };
    return {
      resolved: { lambda },
      expressionOf: ({ layer }, tensor) => {
        const { dtype = 'U8', shape = [] } = tensors.get(tensor) ?? {};
        const isMatrix = shape.length === 2 && !shape.includes(0) && isFloating(dtype);
        // Biases of stacked experts and tables such as Mamba's `A_log` are no linear maps, for all their two dimensions.
        return layer !== undefined && isMatrix && tensor.endsWith('.weight') ? isotropic : averaged;
      },
    };
  },
};
