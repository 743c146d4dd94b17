import * as z from 'zod';
import { itemAt } from '../base/lookup.js';
import type { Expression } from '../operations/expression.js';
import { isFloating } from '../tensor/dtype.js';
import { schemaOf } from './framework/declared.js';
import type { Method, ModelView } from './framework/method.js';
import { fisherMerging } from './framework/papers.js';
import { modelSchema, normalise, weightsSchema } from './framework/parameters.js';
import type { ModelInput } from './framework/recipe-input.js';
import { invalid } from './framework/settings.js';

/** Parameters of `fisher`. */
export interface FisherParameters {
  /** The models to average, two or more. The first gives names, dtypes and side files. */
  models: readonly ModelInput[];
  /**
   * One file a model, in their order: the diagonal of its Fisher information, each tensor under the name and in the shape
   * of the model's. `python -m layerloom.train.importances` makes them.
   */
  importances: readonly string[];
  /** One weight a model, in their order, 0 or more; divided by their sum. Default: all 1. */
  weights?: readonly number[] | undefined;
  /** The model that all were fine-tuned from: only checked against them, and named in the model card. */
  base?: ModelInput | undefined;
  /** Added to each importance, so that an element that no model's data depend on has the plain average. Default 1e-6. */
  eps?: number | undefined;
}

/** Below it, products of it and of small weights would not be normal numbers of float32. */
const leastEps = 1e-30;
const epsRange = `a number from ${leastEps} to 1`;

const schema = schemaOf<FisherParameters>()(
  z
    .strictObject({
      models: z.array(modelSchema, { error: 'a list of models' }).min(2, { error: 'two models or more' }),
      importances: z.array(z.string({ error: 'a file' }).min(1, { error: 'a file' }), {
        error: 'a file for each model, in their order, which `python -m layerloom.train.importances` makes',
      }),
      weights: weightsSchema
        .refine((weights) => weights.every((weight) => weight >= 0), { error: 'weights of 0 or more' })
        .optional(),
      base: modelSchema.optional(),
      eps: z
        .number({ error: epsRange })
        .min(leastEps, { error: epsRange })
        .max(1, { error: epsRange })
        .default(1e-6),
    })
    .superRefine(({ models, importances, weights = models }, { addIssue }) => {
      if (importances.length !== models.length)
        addIssue({
          code: 'custom',
          path: ['importances'],
          message: 'one file for each model, in their order',
        });
      if (weights.length !== models.length)
        addIssue({
          code: 'custom',
          path: ['weights'],
          message: 'one weight for each model, in their order',
        });
    }),
);

type Parameters = z.output<typeof schema>;

/**
 * Fisher-weighted averaging (Matena and Raffel 2022): each element is the mean of the models' elements, weighted by the
 * model's weight times the element's importance in it.
 */
export const fisher: Method<Parameters> = {
  name: 'fisher',
  title: 'Fisher merging',
  citations: [fisherMerging],
  schema,
  tags: ['fisher-merging'],
  takes: { base: 'optional', models: 'list' },
  keepsCard: false,
  needsLayers: false,
  models: ({ models, importances }) => [
    ...models.map((model, index) => ({ role: 'model', model, path: ['models', index] })),
    ...importances.map((model, index) => ({
      role: 'importance',
      model,
      path: ['importances', index],
      inPart: true,
    })),
  ],
  companions: ({ base }) => (base === undefined ? [] : [{ role: 'base', model: base }]),
  compile: ({ models, importances, weights = models.map(() => 1), eps }, { models: views }) => {
    const count = models.length;
    // A model of weight 0 is no term: neither it nor its importances are read.
    const terms = normalise(weights)
      .map((weight, index) => ({ source: { model: index }, importance: { model: count + index }, weight }))
      .filter(({ weight }) => weight > 0);
    const files = terms.map(({ importance: { model } }) => ({
      view: itemAt(views, model),
      path: ['importances', model - count],
      file: itemAt(importances, model - count),
    }));
    const first = itemAt(views, 0);
    const plain: Expression = {
      kind: 'linear',
      terms: terms.map(({ source, weight }) => ({ source, weight })),
    };
    // The mean of one model alone is that model, which its importances would only round.
    const weighted: Expression = terms.length === 1 ? plain : { kind: 'fisher', terms, eps };

    /** True if the files have importances of a tensor, which all or none of them must have. */
    const isWeighted = (tensor: string): boolean => {
      const lacking = files.filter(({ view }) => !view.tensors.has(tensor));
      if (lacking.length === files.length) return false;
      const [without] = lacking;
      if (without !== undefined)
        throw invalid(
          without.path,
          without.file,
          `importances of the same tensors in each file, and this has none of ${tensor}`,
        );
      for (const { view, path, file } of files) {
        const dtype = view.tensors.get(tensor)?.dtype;
        if (dtype !== undefined && !isFloating(dtype))
          throw invalid(path, file, `importances that are floating numbers, and ${tensor} is ${dtype}`);
      }
      return true;
    };

    const names = floatingTensors(first);
    const others = names.filter((name) => files.every(({ view }) => !view.tensors.has(name)));
    if (others.length === names.length)
      throw invalid(
        ['importances', 0],
        itemAt(importances, 0),
        `importances under the names of the models' tensors, such as ${names[0]}, and no file has any`,
      );
    return {
      resolved: { weights, importances: views.slice(count).map(({ name }) => name), eps },
      expressionOf: (_, tensor) =>
        isFloating(first.tensors.get(tensor)?.dtype ?? 'U8') && isWeighted(tensor) ? weighted : plain,
      warnings: others.length === 0 ? [] : [averagedPlainly(others)],
    };
  },
};

const floatingTensors = ({ tensors }: ModelView): string[] =>
  [...tensors].filter(([, { dtype }]) => isFloating(dtype)).map(([name]) => name);

const averagedPlainly = (names: readonly string[]): string =>
  `no file has importances of ${names.slice(0, 3).join(', ')}${names.length > 3 ? ` and ${names.length - 3} more` : ''}: averaged by the models' weights alone`;
