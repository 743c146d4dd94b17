import { LayerloomError } from '../../base/errors.js';
import { invalidParameter } from '../../base/invalid-parameter.js';
import { type Side, sides } from '../../methods/framework/part-names.js';
import { nearest } from '../../methods/recipe/nearest.js';

/** By name; experts may have none. */
export type ExpertRoles = ReadonlyMap<string, Side>;

/** @throws LayerloomError INVALID_PARAMETER for an unknown name, or one with both roles */
export const rolesOf = (
  experts: readonly string[],
  given: Readonly<Record<Side, readonly string[] | undefined>>,
): ExpertRoles => {
  const roles = new Map<string, Side>();
  for (const side of sides)
    for (const name of given[side] ?? []) {
      if (!experts.includes(name))
        throw new LayerloomError('INVALID_PARAMETER', {
          parameter: side,
          value: name,
          expected: `the name of an expert: ${experts.join(', ')}`,
          nearest: nearest(name, experts),
        });
      const other = roles.get(name);
      if (other !== undefined && other !== side)
        throw invalidParameter(side, name, `one role for an expert; ${name} is given as ${other} too`);
      roles.set(name, side);
    }
  return roles;
};
