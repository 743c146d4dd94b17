import * as z from 'zod';
import { itemAt } from '../../base/errors/lookup.js';
import { newRows } from '../../models/tokenizer/vocabulary.js';
import { mostChosen } from '../../native/solve.js';
import { schemaOf } from '../framework/declaration/declared.js';
import type { Method } from '../framework/declaration/method.js';
import { tokenizerTransplantation } from '../framework/declaration/papers.js';
import { modelSchema } from '../framework/declaration/parameters.js';
import type { ModelInput } from '../framework/declaration/recipe-input.js';
import { transplantedRows, transplantNotes } from './transplanted.js';

/** Parameters of `transplant`. */
export interface TransplantParameters {
  /** Model that gets another tokenizer. */
  model: ModelInput;
  /** Model that gives the tokenizer; layers are not used, and may have any size. */
  donor: ModelInput;
  /**
   * Rows for tokens that the model lacks. `omp`: sums of shared tokens' rows, found in the donor's embeddings
   * by orthogonal matching pursuit. `subword`: the mean of the rows of the tokens into which the model's
   * tokenizer splits the text. `mean`: the mean of all rows. `zero`: zeros. Default `omp`.
   */
  rows?: (typeof newRows)[number] | undefined;
  /** For `omp`: maximum rows in a sum, 1 to 4096. Default 64. */
  k?: number | undefined;
}

const kRange = `a whole number from 1 to ${mostChosen}`;

const schema = schemaOf<TransplantParameters>()(
  z
    .strictObject({
      model: modelSchema,
      donor: modelSchema,
      rows: z.enum(newRows, { error: `one of ${newRows.join(', ')}` }).default('omp'),
      k: z.int({ error: kRange }).min(1, { error: kRange }).max(mostChosen, { error: kRange }).optional(),
    })
    .refine(({ rows, k }) => rows === 'omp' || k === undefined, {
      path: ['k'],
      error: 'no k beside rows that are no sums (rows: omp)',
    }),
);

type Parameters = z.output<typeof schema>;

const requestOf = ({ rows, k = 64 }: Parameters) => ({ rows, k });

/** Copies rows of shared tokens, computes new ones, keeps other tensors (Goddard and Fernandes Neto 2025). */
export const transplant: Method<Parameters> = {
  name: 'transplant',
  title: 'Vocabulary transplant',
  citations: [tokenizerTransplantation],
  schema,
  tags: ['tokenizer-transplantation'],
  takes: { base: 'none', models: 'one' },
  needsLayers: false,
  keepsCard: false,
  models: ({ model, donor }) => [
    { role: 'model', model },
    { role: 'donor', model: donor, inPart: true },
  ],
  companions: () => [],
  transplant: requestOf,
  compile: (parameters, { models }) => {
    const { rows, k } = requestOf(parameters);
    return {
      resolved: {
        donor: itemAt(models, 1).recipe ?? itemAt(models, 1).name,
        rows,
        ...(rows === 'omp' ? { k } : {}),
      },
      expressionOf: () => ({ kind: 'copy', source: { model: 0 } }),
    };
  },
  notes: transplantNotes,
  report: (plan) => {
    const transplanted = transplantedRows(plan);
    return transplanted === undefined ? {} : { transplanted };
  },
};
