import { LayerloomError } from '../../../base/errors/errors.js';
import { invalidParameter } from '../../../base/errors/invalid-parameter.js';
import { nearest } from '../../../base/nearest.js';
import { type Side, sides } from '../../../methods/framework/part-names.js';
import {
  type ModelAddress,
  parseAddress,
  printAddress,
  resolveAllPaths,
} from '../../../models/address/address.js';
import { parseHubId } from '../../../models/address/remote.js';
import { locateIfHere } from '../../../models/sources/locate.js';

export type ExpertRoles = ReadonlyMap<string, Side>;

export type GivenRoles = Readonly<Record<Side, readonly string[] | undefined>>;

/** @throws INVALID_PARAMETER for an unknown name, or a name with both roles */
export const rolesOf = (experts: readonly string[], given: GivenRoles): ExpertRoles => {
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

/**
 * Returns roles, and adds models named only in roles to the experts. An expert's name never means a model. Other text
 * means a model if it has a name or a slash, if it exists, or if no experts are given.
 *
 * @returns also `rolesOf`, by the names of the opened experts
 * @throws as `parseAddress`
 */
export const withRoles = async (given: readonly string[], roles: GivenRoles) => {
  const experts = [...given];
  const known = await Promise.all(given.map(identityOf));
  const positions = new Map<string, number>();
  for (const text of [...(roles.task ?? []), ...(roles.language ?? [])]) {
    if (known.some(({ name }) => name === text)) continue;
    const one = await identityOf(text);
    const same = known.findIndex(({ name, place }) => place === one.place && (one.given ?? name) === name);
    if (same >= 0) positions.set(text, same);
    else if (one.isModel || given.length === 0) {
      positions.set(text, experts.push(text) - 1);
      known.push(one);
    }
  }
  const namesIn = (names: readonly string[], texts: readonly string[] = []) =>
    texts.map((text) => names[positions.get(text) ?? -1] ?? text);
  return {
    experts,
    rolesIn: (names: readonly string[]): ExpertRoles =>
      rolesOf(names, { task: namesIn(names, roles.task), language: namesIn(names, roles.language) }),
  };
};

const identityOf = async (text: string) => {
  const address = await parseAddress(text);
  const { name: given, ...plain } = address;
  return {
    given,
    name: await nameOf(address),
    place: printAddress(resolveAllPaths(plain, '.')),
    isModel: given !== undefined || text.includes('/') || address.kind === 'adapted' || address.isHere,
  };
};

const nameOf = async (model: ModelAddress): Promise<string | undefined> =>
  model.name ??
  (model.kind === 'adapted'
    ? await nameOf(model.adapter)
    : ((await locateIfHere(model))?.name ?? parseHubId(model.at)?.id));
