import { lstat, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LayerloomError } from '../../base/errors/errors.js';
import { optionName } from '../../base/errors/option-name.js';
import { exists } from '../../base/files/exists.js';
import { unlessMissing } from '../../base/files/unless-missing.js';
import { recipeBlock } from '../../methods/recipe/recorded-recipe.js';
import { cardName, provenanceName } from '../../models/checkpoint/files/file-names.js';
import { readFileIfAny } from '../../models/checkpoint/files/small-file.js';

/**
 * True if a folder has a record. Otherwise throws, unless the folder need not be an output.
 *
 * @throws OUTPUT_UNRECORDED, READ_FAILED
 */
export const isOutput = async (
  path: string,
  againstInputs: boolean,
  mayBeOther: boolean,
): Promise<boolean> => {
  if (!mayBeOther) return await checkIsOutput(path, againstInputs);
  return (await unlessMissing(path, lstat(join(path, provenanceName)))) !== undefined;
};

/**
 * True if a folder has a record. False if it has only a card with a recipe, which suffices to compare it with
 * its inputs.
 *
 * @throws OUTPUT_UNRECORDED otherwise; READ_FAILED
 */
export const checkIsOutput = async (path: string, againstInputs: boolean): Promise<boolean> => {
  const refused = (reason: string, hasRecipe = false) =>
    new LayerloomError('OUTPUT_UNRECORDED', {
      out: path,
      state: 'is not an output of layerloom',
      reason,
      remedy: hasRecipe
        ? `its card has a recipe, by which ${optionName('againstInputs')} makes it again and compares`
        : 'give the directory that a merge wrote',
      verdict: 'not-an-output',
      hasRecipe,
    });
  if (!(await stat(path)).isDirectory()) throw refused('it is a file');
  // A dangling link counts as an unreadable record.
  if ((await unlessMissing(path, lstat(join(path, provenanceName)))) !== undefined) return true;
  const card = (await readFileIfAny(join(path, cardName)))?.toString() ?? '';
  // Cards of other programs have `merge_method:`.
  const hasRecipe = /^method:/m.test(recipeBlock(card) ?? '');
  if (hasRecipe && againstInputs) return false;
  if (await exists(join(path, 'experiment.json')))
    throw refused('it holds an experiment, whose merges are verified each for itself');
  throw refused(`it has no ${provenanceName}`, hasRecipe);
};
