import type { CheckpointIndex } from '../checkpoint/checkpoint.js';

/** A model of a recipe with its role: a checkpoint, or a nested recipe. */
export interface NamedModel {
  readonly role: string;
  readonly checkpoint: CheckpointIndex;
  readonly recipe?: Readonly<Record<string, unknown>>;
}

/**
 * Returns a recipe's models under their keys: `models` is a list, other roles are keys of their own, nested
 * recipes are inlined.
 */
export const rolesOf = (models: readonly NamedModel[]): Record<string, unknown> => {
  const named = ({ checkpoint, recipe }: NamedModel) => recipe ?? checkpoint.name;
  const merged = models.filter(({ role }) => role === 'model').map(named);
  const others = models.filter(({ role }) => role !== 'model').map((model) => [model.role, named(model)]);
  return { ...(merged.length === 0 ? {} : { models: merged }), ...Object.fromEntries(others) };
};
