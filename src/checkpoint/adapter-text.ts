import { resolve } from 'node:path';
import type { AdaptedFrom } from './checkpoint.js';
import { isHubId } from './hub-cache.js';
import { exists, type Location, splitName } from './model-place.js';

/** The parts of `[NAME=]BASE+ADAPTER`. */
export interface AdapterText {
  readonly name?: string;
  readonly base: string;
  readonly adapter: string;
}

/**
 * Returns the parts of `[NAME=]BASE+ADAPTER`; undefined for the text of one model. A path that exists is one, whatever
 * its name has in it, and the plus is where a model stands before it, or behind it.
 *
 * @param folder that paths are relative to
 */
export const splitAdapter = async (model: string, folder = '.'): Promise<AdapterText | undefined> => {
  const isHere = (text: string) => exists(resolve(folder, text));
  if (!model.includes('+') || (await isHere(model))) return undefined;
  const cuts = [...model.matchAll(/\+/g)]
    .map(({ index }) => ({ base: model.slice(0, index), adapter: model.slice(index + 1) }))
    .filter(({ base, adapter }) => base !== '' && adapter !== '');
  const found = await Promise.all(
    cuts.map(async ({ base, adapter }) => [await isHere(base), await isHere(adapter)] as const),
  );
  const isModel = (text: string, here: boolean | undefined) => here === true || isHubId(text);
  const both = cuts.find(
    ({ base, adapter }, cut) => isModel(base, found[cut]?.[0]) && isModel(adapter, found[cut]?.[1]),
  );
  if (both !== undefined) return both;
  const named = splitName(model);
  if (named !== undefined) {
    const inner = await splitAdapter(named.rest, folder);
    return inner === undefined ? undefined : { ...inner, name: named.name };
  }
  return cuts.find(
    ({ base, adapter }, cut) => isModel(base, found[cut]?.[0]) || isModel(adapter, found[cut]?.[1]),
  );
};

/** Returns the models that a text names: base and adapter of `BASE+ADAPTER`, or the one. */
export const sidesOf = async (model: string, folder = '.'): Promise<readonly string[]> => {
  const parts = await splitAdapter(model, folder);
  return parts === undefined ? [model] : [parts.base, parts.adapter];
};

/** Returns `[NAME=]BASE+ADAPTER` with both sides replaced; undefined for the text of one model. */
export const replaceSides = async (
  model: string,
  folder: string,
  replace: (side: string) => Promise<string>,
): Promise<string | undefined> => {
  const parts = await splitAdapter(model, folder);
  if (parts === undefined) return undefined;
  const { name, base, adapter } = parts;
  return `${name === undefined ? '' : `${name}=`}${await replace(base)}+${await replace(adapter)}`;
};

/** Returns where the parts of a model lie: base and adapter, or the one. */
export const placesOf = (model: Place): readonly Location[] =>
  model.adapted === undefined ? [model] : [model.adapted.base, model.adapted.adapter];

/** A model that was found, and its parts where it is a base with an adapter. */
export type Place = Location & { readonly adapted?: Pick<AdaptedFrom, 'base' | 'adapter'> };
