import type { CheckpointIndex } from '../../../models/checkpoint/checkpoint.js';

/** A model of a recipe with its role: a checkpoint, or a nested recipe. */
export interface NamedModel {
  readonly role: string;
  readonly checkpoint: CheckpointIndex;
  readonly recipe?: Readonly<Record<string, unknown>>;
}

/** Roles of several models, and the recipe keys that list them. */
const lists: Readonly<Record<string, string>> = {
  model: 'models',
  importance: 'importances',
  gram: 'grams',
};

/**
 * Returns a recipe's models by key: lists for `models`, `importances` and `grams`, else one key a role.
 * Nested recipes are inlined.
 */
export const rolesOf = (models: readonly NamedModel[]): Record<string, unknown> => {
  const named = ({ checkpoint, recipe }: NamedModel) => recipe ?? checkpoint.name;
  const found: Record<string, unknown> = {};
  for (const model of models) {
    const list = lists[model.role];
    if (list === undefined) found[model.role] = named(model);
    else found[list] = [...((found[list] as unknown[] | undefined) ?? []), named(model)];
  }
  return found;
};
