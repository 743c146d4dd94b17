import { dirname, join } from 'node:path';
import { LayerloomError } from '../../base/errors/errors.js';
import { exists } from '../../base/files/exists.js';
import { provenanceName } from '../../models/checkpoint/files/file-names.js';
import { isObject } from '../../models/checkpoint/files/json.js';
import { readSmallFile } from '../../models/checkpoint/files/small-file.js';
import { objectPlaces } from '../../texts/edit-json.js';
import { jsonOrNone, ownFile } from '../../texts/json.js';
import { fencedBlocks } from '../../texts/markdown.js';
import type { TextPart } from './document/document.js';
import { inputsSchema, RecordedInputs } from './recorded-inputs.js';

// Reads recipes from an output's model card and layerloom.json.

/** A recipe's text in a file, and inputs recorded beside it. */
export interface RecordedRecipe {
  /** The whole file's text, for lines and columns in messages. */
  readonly text: string;
  /** The recipe's part of the text; default: all. */
  readonly part?: TextPart;
  readonly recorded?: RecordedInputs;
  /** Try the models' recorded paths before the file's folder. */
  readonly recordedFirst: boolean;
}

const refused = (file: string, reason: string): LayerloomError =>
  new LayerloomError('RECIPE_INVALID', { file, reason });

const ofRecipe = /^[ \t]*["'{]*(?:method|merge_method|experts)["']?[ \t]*:/m;

/** Returns a card's fenced blocks that are YAML or name a method. */
const recipePlaces = (card: string): TextPart[] =>
  fencedBlocks(card)
    .filter(({ language, begin, end }) => /^ya?ml$/.test(language) || ofRecipe.test(card.slice(begin, end)))
    .map(({ begin, end }): TextPart => [begin, end]);

export const recipeBlock = (card: string): string | undefined => {
  const all = recipePlaces(card);
  const place = all.find(([begin, end]) => ofRecipe.test(card.slice(begin, end))) ?? all[0];
  return place && card.slice(...place);
};

/**
 * Returns a card's only YAML block or, among several, the one that names a method. Models that are not beside
 * the card are searched at the paths in its layerloom.json.
 *
 * @throws RECIPE_INVALID for a card with no recipe or several
 */
export const cardRecipe = async (card: string, file: string): Promise<RecordedRecipe> => {
  const all = recipePlaces(card);
  const recipes = all.filter(([begin, end]) => ofRecipe.test(card.slice(begin, end)));
  if (recipes.length > 1) throw refused(file, `has ${recipes.length} recipes; leave the one that is meant`);
  const part = recipes[0] ?? all[0];
  if (part === undefined) throw refused(file, 'has no recipe: no block between ```yaml and ```');
  const recorded = await recordBeside(file);
  return { text: card, part, ...(recorded === undefined ? {} : { recorded }), recordedFirst: false };
};

const recordBeside = async (card: string): Promise<RecordedInputs | undefined> => {
  const file = join(dirname(card), provenanceName);
  if (!(await exists(file))) return undefined;
  const inputs = inputsSchema.safeParse(provenanceIn((await readSmallFile(file)).toString())?.['inputs']);
  return inputs.success ? new RecordedInputs(file, inputs.data) : undefined;
};

const provenanceIn = (text: string): Record<string, unknown> | undefined => {
  // Text that is not JSON may be a recipe in YAML.
  const value = jsonOrNone(text, ownFile);
  return isObject(value) && typeof value['layerloom'] === 'string' && 'shards' in value ? value : undefined;
};

/**
 * Returns the recipe in a provenance file; undefined for other text.
 *
 * @throws RECIPE_INVALID if an older version recorded no complete recipe
 */
export const provenanceRecipe = (json: string, file: string): RecordedRecipe | undefined => {
  const provenance = provenanceIn(json);
  if (provenance === undefined) return undefined;
  const inputs = inputsSchema.safeParse(provenance['inputs']);
  const place = objectPlaces(json, new Set(['completeRecipe'])).inner.get('completeRecipe');
  if (place === undefined || !inputs.success)
    throw refused(
      file,
      `records no complete recipe: layerloom ${String(provenance['layerloom'])} wrote it before that was recorded, or it was edited; merge by the recipe's own file`,
    );
  return {
    text: json,
    part: [place.begin, place.end + 1],
    recorded: new RecordedInputs(file, inputs.data),
    recordedFirst: true,
  };
};
