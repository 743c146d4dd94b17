import { realpath } from 'node:fs/promises';
import { recipeBlock } from '../../methods/recipe/recorded-recipe.js';
import { type ModelAddress, parseAddress, partsOf } from '../../models/address/address.js';
import { cardName, provenanceName } from '../../models/checkpoint/files/file-names.js';
import { readCard } from './card-recipes.js';
import type { VerifiedFile, VerifiedInput } from './verification.js';
import type { WrittenRecord } from './written-record.js';

const commitNames = /(?<![\w.-])[\w.-]{1,96}\/[\w.-]{1,96}@[0-9a-f]{40}/g;

/**
 * Returns an entry for the record or the card if it names a hub commit that is not an input, or names the
 * output as an input. Whoever made the output wrote both files, and may have misstated the inputs.
 */
export const mistakenInputs = async (
  out: string,
  record: WrittenRecord | undefined,
  inputs: readonly VerifiedInput[],
): Promise<VerifiedFile[]> => {
  const card = await readCard(out);
  const ofCard = 'text' in card ? recipeBlock(card.text) : undefined;
  const recipes = [
    [provenanceName, JSON.stringify(record?.content['completeRecipe'] ?? '')],
    [cardName, ofCard ?? ''],
  ] as const;
  const commits = new Set(inputs.map(({ commit }) => commit));
  const named = recipes.flatMap(([file, recipe]) => {
    const unread = recipe.match(commitNames)?.find((name) => !commits.has(name));
    return unread === undefined ? [] : [mistaken(file, `names ${unread}, and that was not read`)];
  });
  const addresses = await Promise.all(inputs.map(({ path }) => parseAddress(path)));
  const paths = await Promise.all(addresses.flatMap(placesIn).map((path) => realpath(path)));
  const isOwn = paths.includes(await realpath(out));
  return [...named, ...(isOwn ? [mistaken(provenanceName, 'has the output for an input')] : [])];
};

const placesIn = (address: ModelAddress): string[] =>
  address.kind === 'model' ? [address.at] : partsOf(address).flatMap(placesIn);

const mistaken = (file: string, reason: string): VerifiedFile => ({
  file,
  bytes: null,
  state: 'different',
  reason,
});
