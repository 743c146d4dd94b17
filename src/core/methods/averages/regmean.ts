import * as z from 'zod';
import { itemAt } from '../../base/errors/lookup.js';
import { isFloating } from '../../tensor/dtype.js';
import { schemaOf } from '../framework/declaration/declared.js';
import type { Method } from '../framework/declaration/method.js';
import { regMeanMerging } from '../framework/declaration/papers.js';
import { modelSchema, modelsSchema } from '../framework/declaration/parameters.js';
import type { ModelInput } from '../framework/declaration/recipe-input.js';
import { invalidSetting } from '../framework/declaration/settings.js';
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

/** Parameters of `regmean`. */
export interface RegmeanParameters {
  /** Two or more models; the first gives names, dtypes and side files. */
  models: readonly ModelInput[];
  /** A file per model by `python -m layerloom.train.grams`: Gram matrices of linear layers' inputs. */
  grams: readonly string[];
  /** A weight per model, 0 or more, divided by their sum; default: all 1. */
  weights?: readonly number[] | undefined;
  /** The models' common base; checked and named in the card, not merged. */
  base?: ModelInput | undefined;
  /** Factor of off-diagonal elements, 0 to 1. Default 0.9. */
  scaling?: number | undefined;
  /**
   * Added to the diagonal of the summed Gram matrices, as a share of its mean, 0 to 1e6. Default 0. It pulls
   * the result towards the plain average, which is also the result for inputs that are 0 in all rows.
   */
  ridge?: number | undefined;
}

/** With a larger ridge only the average would remain, and the sum would overflow. */
const mostRidge = 1e6;

const share = 'a number from 0 to 1';
const notNegative = `a number from 0 to ${mostRidge}`;

const files: FilesOfModels = {
  key: 'grams',
  role: 'gram',
  what: 'Gram matrices',
  program: 'layerloom.train.grams',
};

const schema = schemaOf<RegmeanParameters>()(
  z
    .strictObject({
      models: modelsSchema,
      grams: filesSchema(files),
      weights: sharesSchema.optional(),
      base: modelSchema.optional(),
      scaling: z.number({ error: share }).min(0, { error: share }).max(1, { error: share }).default(0.9),
      ridge: z
        .number({ error: notNegative })
        .nonnegative({ error: notNegative })
        .max(mostRidge, { error: notNegative })
        .default(0),
    })
    .superRefine(oneForEach(files)),
);

type Parameters = z.output<typeof schema>;

/**
 * RegMean (Jin et al. 2023): merged linear layers minimise the summed squared distance between their outputs
 * and those of the models' layers, on the models' inputs. Other tensors are averaged.
 */
export const regmean: Method<Parameters> = {
  name: 'regmean',
  title: 'RegMean',
  citations: [regMeanMerging],
  schema,
  tags: ['regmean'],
  takes: { base: 'optional', models: 'list' },
  keepsCard: false,
  needsLayers: false,
  filesOfModels: files.key,
  standsAlone: true,
  models: ({ models, grams }) => withFiles(files, models, grams),
  companions: ({ base }) => (base === undefined ? [] : [{ role: 'base', model: base }]),
  compile: ({ models, grams, weights = models.map(() => 1), scaling, ridge }, { models: views }) => {
    const taken = modelsWithFiles(files, grams, weights, views);
    const terms = taken.map(({ source, file, weight }) => ({ source, gram: file, weight }));
    const { tensors, places } = itemAt(views, 0);
    const plain: Expression = {
      kind: 'linear',
      terms: terms.map(({ source, weight }) => ({ source, weight })),
    };
    // For a single model, the model is the solution.
    const solved: Expression = terms.length === 1 ? plain : { kind: 'regMean', terms, scaling, ridge };
    const isMatrix = (tensor: string): boolean => {
      const { dtype = 'U8', shape = [] } = tensors.get(tensor) ?? {};
      return isFloating(dtype) && shape.length === 2;
    };
    const isSolved = (tensor: string): boolean => {
      const having = taken.find(({ view }) => view.tensors.has(tensor));
      if (having !== undefined && !isMatrix(tensor))
        throw invalidSetting(
          having.path,
          having.name,
          `${files.what} of linear layers alone, and ${tensor} is no matrix of these`,
        );
      return haveTensor(files, taken, tensor);
    };
    const inLayers = [...tensors.keys()].filter(
      (tensor) => isMatrix(tensor) && places.get(tensor)?.layer !== undefined,
    );
    return {
      resolved: { weights, grams: views.slice(models.length).map(({ name }) => name), scaling, ridge },
      expressionOf: (_, tensor) => (isSolved(tensor) ? solved : plain),
      warnings: averagedPlainly(files, inNoFile(files, taken, inLayers)),
    };
  },
};
