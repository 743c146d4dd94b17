import { realpath } from 'node:fs/promises';
import { recipeBlock } from '../../methods/recipe/recorded-recipe.js';
import { commitText, foundModels } from '../../models/address/found-model.js';
import { cardName, provenanceName } from '../../models/checkpoint/files/file-names.js';
import type { PlannedInput } from '../../plan/plan.js';
import { readCard } from './card-recipes.js';
import type { VerifiedFile } from './verification.js';
import type { WrittenRecord } from './written-record.js';

const commitNames = /(?<![\w.-])[\w.-]{1,96}\/[\w.-]{1,96}@[0-9a-f]{40}/g;

/**
 * Returns an entry for the record or card if it names a hub commit that is no input, or the output itself as an input.
 * The output's maker wrote both, and may misstate the inputs.
 */
export const mistakenInputs = async (
  out: string,
  record: WrittenRecord | undefined,
  inputs: readonly PlannedInput[],
): Promise<VerifiedFile[]> => {
  const card = await readCard(out);
  const ofCard = 'text' in card ? recipeBlock(card.text) : undefined;
  const recipes = [
    [provenanceName, JSON.stringify(record?.content['completeRecipe'] ?? '')],
    [cardName, ofCard ?? ''],
  ] as const;
  const read = inputs.flatMap(foundModels);
  const commits = new Set(read.map(commitText));
  const named = recipes.flatMap(([file, recipe]) => {
    const unread = recipe.match(commitNames)?.find((name) => !commits.has(name));
    return unread === undefined ? [] : [mistaken(file, `names ${unread}, and that was not read`)];
  });
  const paths = await Promise.all(read.map(({ path }) => realpath(path)));
  const isOwn = paths.includes(await realpath(out));
  return [...named, ...(isOwn ? [mistaken(provenanceName, 'has the output for an input')] : [])];
};

const mistaken = (file: string, reason: string): VerifiedFile => ({
  file,
  bytes: null,
  state: 'different',
  reason,
});
