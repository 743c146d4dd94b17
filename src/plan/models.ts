import { basename, dirname } from 'node:path';
import { describeArchitecture } from '../architecture/architecture.js';
import { openCheckpoint } from '../checkpoint/open.js';
import { LayerloomError } from '../errors.js';
import type { ModelReference } from '../methods/method.js';
import type { Model } from './compatible.js';
import type { PlannedInput } from './plan.js';

/** A model as a recipe refers to it, opened. */
export type OpenedModel = Model & ModelReference;

/**
 * Opens models, and sees to it that their names tell them apart.
 *
 * @throws LayerloomError NAME_CLASH, and the codes of `openCheckpoint`
 */
export const openModels = async (references: readonly ModelReference[]): Promise<OpenedModel[]> => {
  const opened = await Promise.all(
    references.map(async (reference) => {
      const checkpoint = await openCheckpoint(reference.model);
      return { ...reference, checkpoint, architecture: describeArchitecture(checkpoint) };
    }),
  );
  checkNames(opened);
  return tellApart(opened);
};

/** Models of one role are told apart by their names alone. */
const checkNames = (models: readonly OpenedModel[]): void => {
  const seen = new Map<string, string>();
  for (const { role, checkpoint } of models) {
    const key = `${role} ${checkpoint.name}`;
    const twin = seen.get(key);
    if (twin !== undefined)
      throw new LayerloomError('NAME_CLASH', { name: checkpoint.name, paths: [twin, checkpoint.path] });
    seen.set(key, checkpoint.path);
  }
};

/** Models of several roles may have one name (`math/final` and `swahili/final`): their folder's then goes before it. */
const tellApart = (models: readonly OpenedModel[]): OpenedModel[] =>
  models.map((model) => {
    const { name, path } = model.checkpoint;
    const hasTwin = models.some(({ checkpoint }) => checkpoint.name === name && checkpoint.path !== path);
    return hasTwin
      ? { ...model, checkpoint: { ...model.checkpoint, name: `${basename(dirname(path))}/${name}` } }
      : model;
  });

export const plannedInput = ({ role, checkpoint: { name, path, files } }: OpenedModel): PlannedInput => ({
  role,
  name,
  path,
  files,
});
