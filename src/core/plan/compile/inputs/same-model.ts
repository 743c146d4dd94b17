import { lookAlike } from '../../../models/checkpoint/same/look-alike.js';
import type { OpenedModel } from './models.js';

/** Roles whose models should differ. `models` may include the base, as in mergekit. */
const apart: readonly string[] = ['task', 'language', 'expert', 'base'];

/** Warns if two roles seem to have the same model: one path, or a copy. */
export const sameModelWarnings = async (models: readonly OpenedModel[]): Promise<string[]> => {
  const stored = models.filter(({ role, recipe }) => apart.includes(role) && recipe === undefined);
  const warnings: string[] = [];
  for (const [index, one] of stored.entries())
    for (const other of stored.slice(index + 1))
      if (one.role !== other.role && (await lookAlike(one.checkpoint, other.checkpoint)))
        warnings.push(
          `${other.role} ${other.checkpoint.path} looks like ${one.role} ${one.checkpoint.path}: the same model in two roles, by samples of its files; check the paths`,
        );
  return warnings;
};
