import * as z from 'zod';
import { itemAt } from '../../base/errors/lookup.js';
import { isFloating } from '../../tensor/dtype.js';
import { schemaOf } from '../framework/declaration/declared.js';
import type { Method } from '../framework/declaration/method.js';
import { fisherMerging } from '../framework/declaration/papers.js';
import { modelSchema, modelsSchema } from '../framework/declaration/parameters.js';
import type { ModelInput } from '../framework/declaration/recipe-input.js';
import {
  averagedPlainly,
  type FilesOfModels,
  filesSchema,
  haveTensor,
  inNoFile,
  modelsWithFiles,
  oneForEach,
  sharesSchema,
  withFiles,
} from '../framework/files-of-models.js';
import type { Expression } from '../operations/expression.js';

/** Parameters of `fisher`. */
export interface FisherParameters {
  /** Two or more models; the first gives names, dtypes and side files. */
  models: readonly ModelInput[];
  /** A file per model by `python -m layerloom.train.importances`: diagonals of Fisher information. */
  importances: readonly string[];
  /** A weight per model, 0 or more, divided by their sum; default: all 1. */
  weights?: readonly number[] | undefined;
  /** The models' common base; checked and named in the card, not merged. */
  base?: ModelInput | undefined;
  /** Added to each importance, so that elements of importance 0 get the plain average. Default 1e-6. */
  eps?: number | undefined;
}

/** A smaller eps times a small weight would be subnormal. */
const leastEps = 1e-30;
const epsRange = `a number from ${leastEps} to 1`;

const files: FilesOfModels = {
  key: 'importances',
  role: 'importance',
  what: 'importances',
  program: 'layerloom.train.importances',
};

const schema = schemaOf<FisherParameters>()(
  z
    .strictObject({
      models: modelsSchema,
      importances: filesSchema(files),
      weights: sharesSchema.optional(),
      base: modelSchema.optional(),
      eps: z
        .number({ error: epsRange })
        .min(leastEps, { error: epsRange })
        .max(1, { error: epsRange })
        .default(1e-6),
    })
    .superRefine(oneForEach(files)),
);

type Parameters = z.output<typeof schema>;

/** Fisher-weighted averaging (Matena and Raffel 2022). */
export const fisher: Method<Parameters> = {
  name: 'fisher',
  title: 'Fisher merging',
  citations: [fisherMerging],
  schema,
  tags: ['fisher-merging'],
  takes: { base: 'optional', models: 'list' },
  keepsCard: false,
  needsLayers: false,
  filesOfModels: files.key,
  models: ({ models, importances }) => withFiles(files, models, importances),
  companions: ({ base }) => (base === undefined ? [] : [{ role: 'base', model: base }]),
  compile: ({ models, importances, weights = models.map(() => 1), eps }, { models: views }) => {
    const taken = modelsWithFiles(files, importances, weights, views);
    const terms = taken.map(({ source, file, weight }) => ({ source, importance: file, weight }));
    const { tensors } = itemAt(views, 0);
    const plain: Expression = {
      kind: 'linear',
      terms: terms.map(({ source, weight }) => ({ source, weight })),
    };
    // A single model is its own mean; weighting would only add rounding.
    const weighted: Expression = terms.length === 1 ? plain : { kind: 'fisher', terms, eps };
    const floating = [...tensors].filter(([, { dtype }]) => isFloating(dtype)).map(([name]) => name);
    return {
      resolved: { weights, importances: views.slice(models.length).map(({ name }) => name), eps },
      expressionOf: (_, tensor) =>
        isFloating(tensors.get(tensor)?.dtype ?? 'U8') && haveTensor(files, taken, tensor) ? weighted : plain,
      warnings: averagedPlainly(files, inNoFile(files, taken, floating)),
    };
  },
};
