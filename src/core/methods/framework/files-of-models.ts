import * as z from 'zod';
import { itemAt } from '../../base/errors/lookup.js';
import { isFloating } from '../../tensor/dtype.js';
import type { ModelReference, ModelView, RecipePath } from './declaration/method.js';
import { normalise, weightsSchema } from './declaration/parameters.js';
import type { ModelInput } from './declaration/recipe-input.js';
import { invalidSetting } from './declaration/settings.js';

/** A file of tensors per model, such as importances. */
export interface FilesOfModels {
  readonly key: string;
  readonly role: string;
  readonly what: string;
  readonly program: string;
}

export const filesSchema = ({ program }: FilesOfModels) =>
  z.array(z.string({ error: 'a file' }).min(1, { error: 'a file' }), {
    error: `a file for each model, in their order, which \`python -m ${program}\` makes`,
  });

/** Weights of 0 or more; models of weight 0 are left out. */
export const sharesSchema = weightsSchema.refine((weights) => weights.every((weight) => weight >= 0), {
  error: 'weights of 0 or more',
});

export const oneForEach =
  ({ key }: FilesOfModels) =>
  (
    given: { readonly models: readonly unknown[]; readonly weights?: readonly unknown[] | undefined },
    { addIssue }: z.RefinementCtx,
  ): void => {
    const { models, weights = models } = given;
    const files = (given as unknown as Readonly<Record<string, readonly unknown[]>>)[key];
    const require = (list: readonly unknown[] | undefined, path: string, what: string): void => {
      if (list?.length !== models.length)
        addIssue({ code: 'custom', path: [path], message: `one ${what} for each model, in their order` });
    };
    require(files, key, 'file');
    require(weights, 'weights', 'weight');
  };

export const withFiles = (
  { key, role }: FilesOfModels,
  models: readonly ModelInput[],
  files: readonly string[],
): ModelReference[] => [
  ...models.map((model, index) => ({ role: 'model', model, path: ['models', index] })),
  ...files.map((model, index) => ({ role, model, path: [key, index], inPart: true })),
];

export interface ModelWithFile {
  readonly source: { readonly model: number };
  readonly file: { readonly model: number };
  readonly weight: number;
  readonly view: ModelView;
  readonly path: RecipePath;
  readonly name: string;
}

/** Returns models with weights above 0, normalised, and their files. Other models and files are not read. */
export const modelsWithFiles = (
  { key }: FilesOfModels,
  files: readonly string[],
  weights: readonly number[],
  views: readonly ModelView[],
): ModelWithFile[] =>
  normalise(weights)
    .map((weight, index) => ({
      source: { model: index },
      file: { model: files.length + index },
      weight,
      view: itemAt(views, files.length + index),
      path: [key, index],
      name: itemAt(files, index),
    }))
    .filter(({ weight }) => weight > 0);

/**
 * True if all files have the tensor, false if none has.
 *
 * @throws INVALID_PARAMETER if only some files have it, or its dtype is an integer
 */
export const haveTensor = (
  { what }: FilesOfModels,
  models: readonly ModelWithFile[],
  tensor: string,
): boolean => {
  const lacking = models.filter(({ view }) => !view.tensors.has(tensor));
  if (lacking.length === models.length) return false;
  const [without] = lacking;
  if (without !== undefined)
    throw invalidSetting(
      without.path,
      without.name,
      `${what} of the same tensors in each file, and this has none of ${tensor}`,
    );
  for (const { view, path, name } of models) {
    const dtype = view.tensors.get(tensor)?.dtype;
    if (dtype !== undefined && !isFloating(dtype))
      throw invalidSetting(path, name, `${what} that are floating numbers, and ${tensor} is ${dtype}`);
  }
  return true;
};

/** @throws INVALID_PARAMETER if no file has any of `tensors` */
export const inNoFile = (
  { what }: FilesOfModels,
  models: readonly ModelWithFile[],
  tensors: readonly string[],
): string[] => {
  const none = tensors.filter((name) => models.every(({ view }) => !view.tensors.has(name)));
  const { path, name } = itemAt(models, 0);
  if (none.length === tensors.length)
    throw invalidSetting(
      path,
      name,
      `${what} under the names of the models' tensors, such as ${tensors[0]}, and no file has any`,
    );
  return none;
};

export const averagedPlainly = ({ what }: FilesOfModels, names: readonly string[]): string[] =>
  names.length === 0
    ? []
    : [
        `no file has ${what} of ${names.slice(0, 3).join(', ')}${names.length > 3 ? ` and ${names.length - 3} more` : ''}: averaged by the models' weights alone`,
      ];
