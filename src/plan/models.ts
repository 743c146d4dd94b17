import { basename, dirname } from 'node:path';
import { describeArchitecture } from '../architecture/architecture.js';
import { openCheckpoint } from '../checkpoint/open.js';
import { LayerloomError } from '../errors.js';
import type { RecipePath } from '../methods/framework/method.js';
import type { Model } from './compatible.js';
import type { Operand, PlannedInput } from './plan.js';

/** A model as a recipe refers to it, opened: a checkpoint, or what a recipe in the recipe makes. */
export interface OpenedModel extends Model {
  readonly role: string;
  /** A tensor of it: a byte range of an input, or how it is computed. */
  operandOf(name: string): Operand | undefined;
  readonly path?: RecipePath | undefined;
  /** The recipe that makes it, as it was settled. */
  readonly recipe?: Readonly<Record<string, unknown>>;
  /** Of the recipe that makes it: filters that match no tensor. */
  readonly unmatched?: readonly Unmatched[];
  /** Of what went into it. */
  readonly warnings?: readonly string[];
  /** What its `config.json` must say otherwise than the one it is copied from. */
  readonly configEdits?: Readonly<Record<string, unknown>>;
}

/** A part of a recipe that no tensor has used. */
export interface Unmatched {
  readonly what: string;
  readonly path: RecipePath;
}

/** A checkpoint that a recipe names. */
export interface CheckpointReference {
  readonly role: string;
  readonly model: string;
  readonly path?: RecipePath | undefined;
}

/** A checkpoint, opened. */
export type OpenedCheckpoint = Model & CheckpointReference;

/**
 * Opens models, and sees to it that their names tell them apart.
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

/** @throws LayerloomError NAME_CLASH */
export const settleNames = (opened: readonly OpenedCheckpoint[]): OpenedCheckpoint[] => {
  checkNames(opened);
  return tellApart(opened);
};

/** Models of one role are told apart by their names alone. */
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

/** Models of several roles may have one name (`math/final` and `swahili/final`): their folder's then goes before it. */
const tellApart = (models: readonly OpenedCheckpoint[]): OpenedCheckpoint[] =>
  models.map((model) => {
    const { name, path } = model.checkpoint;
    const hasTwin = models.some(({ checkpoint }) => checkpoint.name === name && checkpoint.path !== path);
    return hasTwin
      ? { ...model, checkpoint: { ...model.checkpoint, name: `${basename(dirname(path))}/${name}` } }
      : model;
  });

export const plannedInput = ({
  role,
  checkpoint: { name, path, files },
}: Pick<OpenedCheckpoint, 'role' | 'checkpoint'>): PlannedInput => ({
  role,
  name,
  path,
  files,
});

/** An error with the place in the recipe where it has its cause. */
export const at = (error: unknown, path: RecipePath | undefined): unknown => {
  if (!(error instanceof LayerloomError) || error.context.recipePath !== undefined) return error;
  return path === undefined ? error : error.with({ recipePath: path });
};
