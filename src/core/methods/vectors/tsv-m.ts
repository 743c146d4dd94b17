import * as z from 'zod';
import { bySingularValues, spectralOf } from '../framework/by-singular-values.js';
import { schemaOf } from '../framework/declaration/declared.js';
import type { Method } from '../framework/declaration/method.js';
import { taskSingularVectors } from '../framework/declaration/papers.js';
import { modelSchema, modelsSchema } from '../framework/declaration/parameters.js';
import type { ModelInput } from '../framework/declaration/recipe-input.js';

/** Parameters of `tsv_m`. */
export interface TsvMParameters {
  /** Two or more models. */
  models: readonly ModelInput[];
  /** The common base; gives names, dtypes and side files. */
  base: ModelInput;
  /** Factor α of the merged change. Default 1. */
  alpha?: number | undefined;
}

const schema = schemaOf<TsvMParameters>()(
  z.strictObject({
    models: modelsSchema,
    base: modelSchema,
    alpha: z.number({ error: 'a number' }).default(1),
  }),
);

type Parameters = z.output<typeof schema>;

/**
 * TSV-Merge (Gargiulo et al. 2025) for matrices in layers. Other tensors get α times the mean task vector.
 */
export const tsvM: Method<Parameters> = {
  ...bySingularValues,
  name: 'tsv_m',
  title: 'TSV-Merge',
  citations: [taskSingularVectors],
  schema,
  tags: ['tsv-merge'],
  compile: ({ alpha }, context) => ({
    resolved: { alpha },
    expressionOf: spectralOf('tsv_m', alpha, context),
  }),
};
