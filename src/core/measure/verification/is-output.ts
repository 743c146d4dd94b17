import { lstat, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LayerloomError } from '../../base/errors.js';
import { exists } from '../../base/exists.js';
import { unlessMissing } from '../../base/unless-missing.js';
import { recipeBlock } from '../../methods/recipe/recorded-recipe.js';
import { cardName, provenanceName } from '../../models/checkpoint/file-names.js';
import { readFileIfAny } from '../../models/checkpoint/small-file.js';

/**
 * Tells whether an output has a record. Without one it is an output only for who compares it with its inputs, by the recipe of
 * its card.
 *
 * @throws LayerloomError OUTPUT_UNRECORDED for all else; READ_FAILED
 */
export const checkIsOutput = async (path: string, againstInputs: boolean): Promise<boolean> => {
  const refused = (reason: string, hasRecipe = false) =>
    new LayerloomError('OUTPUT_UNRECORDED', { out: path, reason, verdict: 'not-an-output', hasRecipe });
  if (!(await stat(path)).isDirectory()) throw refused('it is a file');
  // A link that leads nowhere is a record that cannot be read.
  if ((await unlessMissing(path, lstat(join(path, provenanceName)))) !== undefined) return true;
  const card = (await readFileIfAny(join(path, cardName)))?.toString() ?? '';
  // Cards of other programs say `merge_method:`.
  const hasRecipe = /^method:/m.test(recipeBlock(card) ?? '');
  if (hasRecipe && againstInputs) return false;
  if (await exists(join(path, 'experiment.json')))
    throw refused('it holds an experiment, whose merges are verified each for itself');
  throw refused(`it has no ${provenanceName}`, hasRecipe);
};
