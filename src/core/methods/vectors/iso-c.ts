import * as z from 'zod';
import { bySingularValues, spectralOf } from '../framework/by-singular-values.js';
import { schemaOf } from '../framework/declaration/declared.js';
import type { Method } from '../framework/declaration/method.js';
import { isotropicMerging } from '../framework/declaration/papers.js';
import { modelSchema, modelsSchema } from '../framework/declaration/parameters.js';
import type { ModelInput } from '../framework/declaration/recipe-input.js';

/** Parameters of `iso_c`. */
export interface IsoCParameters {
  /** Two or more models. */
  models: readonly ModelInput[];
  /** The common base; gives names, dtypes and side files. */
  base: ModelInput;
  /** Factor λ of the merged change. Default 1. */
  lambda?: number | undefined;
}

const schema = schemaOf<IsoCParameters>()(
  z.strictObject({
    models: modelsSchema,
    base: modelSchema,
    lambda: z.number({ error: 'a number' }).default(1),
  }),
);

type Parameters = z.output<typeof schema>;

/** Iso-C (Marczak et al. 2025) for matrices in layers. Other tensors get λ times the mean task vector. */
export const isoC: Method<Parameters> = {
  ...bySingularValues,
  name: 'iso_c',
  title: 'Iso-C',
  citations: [isotropicMerging],
  schema,
  tags: ['iso-c'],
  compile: ({ lambda }, context) => ({
    resolved: { lambda },
    expressionOf: spectralOf('iso_c', lambda, context),
  }),
};
