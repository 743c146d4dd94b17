import { isAbsolute, resolve } from 'node:path';
import { LayerloomError } from '../../base/errors.js';
import { existsIn } from '../../base/exists.js';
import { tildeIn } from '../../base/tilde.js';
import { splitName, withName } from './name.js';
import { checkRemote, isRemote } from './remote.js';

/** The address of one model. */
export interface PlainAddress {
  readonly kind: 'model';
  /** NAME of `NAME=…`. */
  readonly name?: string;
  /** A path or what a source names, as it is written: `./math-1`, `org/name@main`. */
  readonly at: string;
  /** True for a path that exists. */
  readonly isHere: boolean;
}

/** The address of a base with an adapter. */
export interface AdaptedAddress {
  readonly kind: 'adapted';
  readonly name?: string;
  readonly base: ModelAddress;
  readonly adapter: ModelAddress;
}

/** What names a model, parsed: `[NAME=]PATH`, `[NAME=]org/name[@revision]` or `[NAME=]BASE+ADAPTER`. */
export type ModelAddress = PlainAddress | AdaptedAddress;

/**
 * Parses the text by which a user or a recipe names a model. A path that exists is one, whatever its name has in it, and a
 * plus divides where a model stands before it or behind it.
 *
 * @param folder that paths are relative to
 * @throws LayerloomError USAGE for a path with a `~` that no shell has expanded; INVALID_PARAMETER for a revision or a
 *   repository's name that the hub cannot have; READ_FAILED where the system does not say whether a path exists, and the text
 *   might name another model then
 */
export const parseAddress = async (text: string, folder = '.'): Promise<ModelAddress> => {
  const isHere = (path: string) => existsIn(folder, path);
  const isWhole = await isHere(text).catch((error: unknown) => {
    if (!isPathAlone(text)) throw error;
    return false;
  });
  if (isWhole) return { kind: 'model', at: text, isHere: true };
  const cuts = await Promise.all(
    [...text.matchAll(/\+/g)]
      .map(({ index }) => [text.slice(0, index), text.slice(index + 1)] as const)
      .filter((sides) => !sides.includes(''))
      .map(async (sides) => {
        const areModels = sides.map(async (side) => isRemote(side) || (await isHere(side)));
        return { sides, models: (await Promise.all(areModels)).filter(Boolean).length };
      }),
  );
  const adapted = async ([base, adapter]: readonly [string, string]): Promise<AdaptedAddress> => ({
    kind: 'adapted',
    base: await parseAddress(base, folder),
    adapter: await parseAddress(adapter, folder),
  });
  const both = cuts.find(({ models }) => models === 2);
  if (both !== undefined) return await adapted(both.sides);
  const { name, rest } = splitName(text);
  if (name !== undefined) return { ...(await parseAddress(rest, folder)), name };
  const unexpanded = tildeIn(text);
  if (unexpanded !== undefined) throw new LayerloomError('USAGE', { reason: `${text}: ${unexpanded}` });
  const either = cuts.find(({ models }) => models === 1);
  if (either !== undefined) return await adapted(either.sides);
  checkRemote(text);
  return { kind: 'model', at: text, isHere: false };
};

/** True for a path, whether it exists or not: who opens it finds out. */
const isPathAlone = (text: string): boolean => (isAbsolute(text) || isDotted(text)) && !text.includes('+');

/** Prints an address as it is written. */
export const printAddress = (address: ModelAddress): string =>
  withName(
    address.name,
    address.kind === 'model' ? address.at : `${printAddress(address.base)}+${printAddress(address.adapter)}`,
  );

/** Returns the addresses of a model's parts: base and adapter, or the one. */
export const partsOf = (address: ModelAddress): readonly ModelAddress[] =>
  address.kind === 'model' ? [address] : [address.base, address.adapter];

/** Returns an address with what `change` gives in the places of its models. */
export const mapPlaces = (address: ModelAddress, change: (model: PlainAddress) => string): ModelAddress =>
  address.kind === 'model'
    ? { ...address, at: change(address) }
    : { ...address, base: mapPlaces(address.base, change), adapter: mapPlaces(address.adapter, change) };

/** True for a path that begins with `./` or `../`, which no source takes for a name. */
export const isDotted = (at: string): boolean => /^\.\.?(\/|$)/.test(at);

/**
 * Makes the paths of an address absolute that exist in `folder`, where it was parsed, or begin with `./` or `../`. Other
 * relative ones stay, since `org/name` may be a model of the hub.
 */
export const resolveAddress = (address: ModelAddress, folder: string): ModelAddress =>
  mapPlaces(address, ({ at, isHere }) => (isHere || isDotted(at) ? resolve(folder, at) : at));

/** Makes all paths of an address absolute; what a source names stays. */
export const resolveAllPaths = (address: ModelAddress, folder: string): ModelAddress =>
  mapPlaces(address, ({ at, isHere }) =>
    !isHere && (isAbsolute(at) || isRemote(at)) ? at : resolve(folder, at),
  );
