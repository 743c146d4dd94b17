import { stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { codeOf } from '../../base/errors/errors.js';
import { invalidParameter } from '../../base/errors/invalid-parameter.js';
import { exists } from '../../base/files/exists.js';
import type { UncheckedRecipe } from '../../methods/framework/declaration/unchecked-recipe.js';
import { isRecipeText } from '../../methods/recipe/recipe-file.js';
import { recipeBlock } from '../../methods/recipe/recorded-recipe.js';
import { parseAddress } from '../../models/address/address.js';
import { cardName, provenanceName } from '../../models/checkpoint/files/file-names.js';
import { readFileIfAny } from '../../models/checkpoint/files/small-file.js';
import { isBareAdapter } from '../../models/reading/read-model.js';
import { locateIfHere } from '../../models/sources/locate.js';
import { baseOf, withBaseIn } from '../../plan/compile/adapters/named-base.js';

/** File in which mergekit writes the recipe of an output. */
const mergekitName = 'mergekit_config.yml';

const ofRecipes = new Set(['.yml', '.yaml', '.md', '.json']);

/** The recipe that an output should follow, as input of `planMerge`. */
export type Claim = string | UncheckedRecipe;

/**
 * Reads what an output should be. The text is a recipe, or names a recipe's file, a card, a record, or a folder with
 * one of these. A model, `BASE+ADAPTER`, or an adapter with a known base means an exact copy of it.
 *
 * @throws INVALID_PARAMETER for a folder without recipe and weights, MODEL_NOT_FOUND, BASE_NEEDED, and the
 *   codes of `parseAddress`
 */
export const readClaim = async (against: string): Promise<Claim> => {
  if (isRecipeText(against)) return against;
  const kind = await kindOf(against);
  if (kind === 'file' && ofRecipes.has(extname(against).toLowerCase())) return against;
  if (kind === undefined && ofRecipes.has(extname(against).toLowerCase())) return against;
  const address = await parseAddress(against);
  const copyOf = (model: string): UncheckedRecipe => ({ method: 'relayout', model });
  if (address.kind === 'adapted') return copyOf(against);
  const found = await locateIfHere(address);
  const folder = found?.path;
  const recorded = folder === undefined ? undefined : await recipeIn(folder);
  if (recorded !== undefined) return recorded;
  if (found !== undefined && (await isBareAdapter(address)))
    return copyOf(await withBaseIn(address, await baseOf(address)));
  return copyOf(against);
};

const kindOf = async (path: string): Promise<'file' | 'directory' | undefined> => {
  try {
    return (await stat(path)).isDirectory() ? 'directory' : 'file';
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(String(codeOf(error)))) return undefined;
    throw invalidParameter('against', path, 'a recipe, a card, BASE+ADAPTER or a model that can be read');
  }
};

const recipeIn = async (folder: string): Promise<string | undefined> => {
  if ((await kindOf(folder)) !== 'directory') return undefined;
  for (const name of [provenanceName, mergekitName])
    if (await exists(join(folder, name))) return join(folder, name);
  const card = (await readFileIfAny(join(folder, cardName)))?.toString() ?? '';
  return /^[ \t]*(method|merge_method)[ \t]*:/m.test(recipeBlock(card) ?? '')
    ? join(folder, cardName)
    : undefined;
};
