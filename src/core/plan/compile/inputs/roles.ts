import type { CheckpointIndex } from '../../../models/checkpoint/checkpoint.js';

export interface NamedModel {
  readonly role: string;
  readonly checkpoint: CheckpointIndex;
  readonly recipe?: Readonly<Record<string, unknown>>;
}

/** Recipe keys for roles with several models. */
const lists: Readonly<Record<string, string>> = {
  model: 'models',
  importance: 'importances',
  gram: 'grams',
};

/** Returns models by recipe key, with nested recipes inlined; keys of `lists` hold arrays. */
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
