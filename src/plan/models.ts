import { basename, resolve, sep } from 'node:path';
import { describeArchitecture } from '../architecture/architecture.js';
import { openCheckpoint } from '../checkpoint/open.js';
import { LayerloomError } from '../errors.js';
import type { RecipePath } from '../methods/framework/method.js';
import type { Model } from './compatible.js';
import type { CompleteRecipe } from './complete-recipe.js';
import type { Operand, PlannedInput } from './plan.js';

/** An opened model of a recipe: a checkpoint, or a compiled nested recipe. */
export interface OpenedModel extends Model {
  readonly role: string;
  /** Returns a tensor as an operand: a byte range of an input, or the formula that computes it. */
  operandOf(name: string): Operand | undefined;
  readonly path?: RecipePath | undefined;
  /** For a nested recipe: the recipe, with the parameters it uses. */
  readonly recipe?: Readonly<Record<string, unknown>>;
  /** For a nested recipe: the one that makes it again. */
  readonly complete?: CompleteRecipe;
  /** For a nested recipe: its filters that match no tensor. */
  readonly unmatched?: readonly Unmatched[];
  /** For a nested recipe: the warnings of its models. */
  readonly warnings?: readonly string[];
  /** For a nested recipe: the keys of its `config.json` that differ from its first model's. */
  readonly configEdits?: Readonly<Record<string, unknown>>;
}

/** A part of a recipe that applies to no tensor. */
export interface Unmatched {
  readonly what: string;
  readonly path: RecipePath;
}

/** A reference to a checkpoint: the text by which a recipe names it, and its role. */
export interface CheckpointReference {
  readonly role: string;
  readonly model: string;
  readonly path?: RecipePath | undefined;
}

export type OpenedCheckpoint = Model & CheckpointReference;

/**
 * Opens checkpoints and makes their names distinct.
 *
 * @throws LayerloomError NAME_CLASH, and the codes of `openCheckpoint`
 */
export const openModels = async (references: readonly CheckpointReference[]): Promise<OpenedCheckpoint[]> =>
  settleNames(await openEach(references));

/** @throws LayerloomError the codes of `openCheckpoint` */
export const openEach = (references: readonly CheckpointReference[]): Promise<OpenedCheckpoint[]> =>
  Promise.all(
    references.map(async (reference) => {
      const checkpoint = await openCheckpoint(reference.model).catch((error: unknown) => {
        throw at(error, reference.path);
      });
      return { ...reference, checkpoint, architecture: describeArchitecture(checkpoint) };
    }),
  );

/**
 * Makes the names of opened checkpoints distinct. @throws LayerloomError NAME_CLASH where two of one role
 * share a name
 */
export const settleNames = (opened: readonly OpenedCheckpoint[]): OpenedCheckpoint[] => {
  checkNames(opened);
  return tellApart(opened);
};

/** Checks that no two models of one role share a name, since outputs and reports refer to them by it. */
const checkNames = (models: readonly OpenedCheckpoint[]): void => {
  const seen = new Map<string, string>();
  for (const { role, checkpoint } of models) {
    const key = `${role} ${checkpoint.name}`;
    const twin = seen.get(key);
    if (twin !== undefined)
      throw new LayerloomError('NAME_CLASH', { name: checkpoint.name, paths: [twin, checkpoint.path] });
    seen.set(key, checkpoint.path);
  }
};

/**
 * Prefixes names that models of different roles share (`math/final`, `swahili/final`) with the name of their
 * folder, and with those above it as long as they are the same.
 *
 * @throws LayerloomError NAME_CLASH where no folder tells them apart
 */
const tellApart = (models: readonly OpenedCheckpoint[], depth = 1): OpenedCheckpoint[] => {
  const twinOf = ({ checkpoint: { name, path } }: OpenedCheckpoint) =>
    models.find(({ checkpoint }) => checkpoint.name === name && checkpoint.path !== path);
  const [clashing] = models.filter(twinOf);
  if (clashing === undefined) return [...models];
  const { name, path } = clashing.checkpoint;
  if (path.split(sep).length <= depth + 1)
    throw new LayerloomError('NAME_CLASH', {
      name,
      paths: [path, twinOf(clashing)?.checkpoint.path ?? path],
    });
  const prefixed = models.map((model) => {
    if (twinOf(model) === undefined) return model;
    const { checkpoint } = model;
    const folder = basename(resolve(checkpoint.path, ...Array.from({ length: depth }, () => '..')));
    return { ...model, checkpoint: { ...checkpoint, name: `${folder}/${checkpoint.name}` } };
  });
  return tellApart(prefixed, depth + 1);
};

export const plannedInput = ({
  role,
  checkpoint: { name, path, hub, files },
}: Pick<OpenedCheckpoint, 'role' | 'checkpoint'>): PlannedInput => ({
  role,
  name,
  path,
  ...(hub === undefined ? {} : { hub }),
  files,
});

/** Returns the error with the place in the recipe that caused it, unless it has one already. */
export const at = (error: unknown, path: RecipePath | undefined): unknown => {
  if (!(error instanceof LayerloomError) || error.context.recipePath !== undefined) return error;
  return path === undefined ? error : error.with({ recipePath: path });
};
