import { isAbsolute, resolve } from 'node:path';
import { LayerloomError } from '../../base/errors/errors.js';
import { existsIn } from '../../base/files/exists.js';
import { unexpandedIn } from '../../base/files/tilde.js';
import { splitName, withName } from './name.js';
import { folderOfAdapter } from './named-adapters.js';
import { checkRemote, idOfHubAddress, isHubAddress, isRemote } from './remote.js';

export interface PlainAddress {
  readonly kind: 'model';
  readonly name?: string;
  /** A path, or a source's name as written: `./math-1`, `org/name@main`. */
  readonly at: string;
  readonly isHere: boolean;
}

export interface AdaptedAddress {
  readonly kind: 'adapted';
  readonly name?: string;
  readonly base: ModelAddress;
  readonly adapter: ModelAddress;
}

/**
 * A parsed model name: `[NAME=]PATH`, `[NAME=]org/name[@revision]` or `[NAME=]BASE+ADAPTER`. `DIR#ADAPTER` is
 * the path of one of a directory's adapters.
 */
export type ModelAddress = PlainAddress | AdaptedAddress;

/**
 * Parses a model's name from a user or recipe. An existing path is used as is, whatever its characters; next
 * is `DIR#ADAPTER`. Otherwise a plus between two models separates base and adapter.
 *
 * @throws USAGE for an unexpanded `~`; INVALID_PARAMETER for a repository or revision that the hub cannot
 * have; READ_FAILED if existence cannot be checked and the text might name another model
 */
export const parseAddress = async (text: string, folder = '.'): Promise<ModelAddress> => {
  const isHere = (path: string) => existsIn(folder, path);
  const isWhole = await isHere(text).catch((error: unknown) => {
    if (!isPathAlone(text)) throw error;
    return false;
  });
  if (isWhole) return { kind: 'model', at: text, isHere: true };
  const named = await folderOfAdapter(text, isHere);
  if (named !== undefined) return { kind: 'model', at: named, isHere: true };
  const cuts = await Promise.all(
    [...text.matchAll(/\+/g)]
      .map(({ index }) => [text.slice(0, index), text.slice(index + 1)] as const)
      .filter((sides) => !sides.includes(''))
      .map(async (sides) => {
        const areModels = sides.map(
          async (side) =>
            isRemote(side) ||
            isHubAddress(side) ||
            (await isHere(side)) ||
            (await folderOfAdapter(side, isHere)) !== undefined,
        );
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
  const unexpanded = unexpandedIn(text);
  if (unexpanded !== undefined) throw new LayerloomError('USAGE', { reason: `${text}: ${unexpanded}` });
  const either = cuts.find(({ models }) => models === 1);
  if (either !== undefined) return await adapted(either.sides);
  const at = idOfHubAddress(text) ?? text;
  checkRemote(at);
  return { kind: 'model', at, isHere: false };
};

const isPathAlone = (text: string): boolean => (isAbsolute(text) || isDotted(text)) && !text.includes('+');

export const printAddress = (address: ModelAddress): string =>
  withName(
    address.name,
    address.kind === 'model' ? address.at : `${printAddress(address.base)}+${printAddress(address.adapter)}`,
  );

export const partsOf = (address: ModelAddress): readonly ModelAddress[] =>
  address.kind === 'model' ? [address] : [address.base, address.adapter];

export const mapPlaces = (address: ModelAddress, change: (model: PlainAddress) => string): ModelAddress =>
  address.kind === 'model'
    ? { ...address, at: change(address) }
    : { ...address, base: mapPlaces(address.base, change), adapter: mapPlaces(address.adapter, change) };

/** True for a path that begins with `./` or `../`, which no source's name does. */
export const isDotted = (at: string): boolean => /^\.\.?(\/|$)/.test(at);

/** Makes existing and dotted paths absolute. Other texts stay, because `org/name` may be a hub model. */
export const resolveAddress = (address: ModelAddress, folder: string): ModelAddress =>
  mapPlaces(address, ({ at, isHere }) => (isHere || isDotted(at) ? resolve(folder, at) : at));

export const resolveAllPaths = (address: ModelAddress, folder: string): ModelAddress =>
  mapPlaces(address, ({ at, isHere }) =>
    !isHere && (isAbsolute(at) || isRemote(at)) ? at : resolve(folder, at),
  );
