import { dirname, join } from 'node:path';
import { findNodeAtLocation, parseTree } from 'jsonc-parser';
import { LayerloomError } from '../base/errors.js';
import { exists } from '../base/exists.js';
import { provenanceName } from '../checkpoint/file-names.js';
import { isObject, jsonOrNone } from '../checkpoint/json.js';
import { readSmallFile } from '../checkpoint/small-file.js';
import { inputsSchema, RecordedInputs } from './recorded-inputs.js';

// Files of an output that hold its recipe: the model card, and layerloom.json.

/** A recipe's text at its place in a file, and the inputs that were recorded with it. */
export interface RecordedRecipe {
  /** The file's text with all but the recipe blank, so that lines and columns are the file's. */
  readonly text: string;
  readonly recorded?: RecordedInputs;
  /** True where models are looked for at their recorded paths before the folder of the file. */
  readonly recordedFirst: boolean;
}

const refused = (file: string, reason: string): LayerloomError =>
  new LayerloomError('RECIPE_INVALID', { file, reason });

/** Blanks all of a text but a part, line ends aside. */
const blankAround = (text: string, begin: number, end: number): string =>
  `${text.slice(0, begin).replace(/[^\n]/g, ' ')}${text.slice(begin, end)}`;

const fencedYaml = /^(?<open>(?<fence>`{3,})ya?ml[ \t]*\r?\n)(?<recipe>.*?)^\k<fence>[ \t]*$/ms;

/** Returns the text of the recipe of a model card; undefined where it has none. */
export const recipeBlock = (card: string): string | undefined => fencedYaml.exec(card)?.groups?.['recipe'];

/**
 * Returns the recipe of a model card: the first block fenced as YAML. Models that do not lie beside the card
 * are looked for where the layerloom.json beside it recorded them.
 *
 * @throws LayerloomError RECIPE_INVALID without such a block
 */
export const cardRecipe = async (card: string, file: string): Promise<RecordedRecipe> => {
  const block = fencedYaml.exec(card);
  if (block?.groups === undefined) throw refused(file, 'has no recipe: no block between ```yaml and ```');
  const { open = '', recipe = '' } = block.groups;
  const begin = block.index + open.length;
  const recorded = await recordBeside(file);
  return {
    text: blankAround(card, begin, begin + recipe.length),
    ...(recorded === undefined ? {} : { recorded }),
    recordedFirst: false,
  };
};

/** Reads the inputs that the layerloom.json beside a card records; undefined where there is none. */
const recordBeside = async (card: string): Promise<RecordedInputs | undefined> => {
  const file = join(dirname(card), provenanceName);
  if (!(await exists(file))) return undefined;
  const inputs = inputsSchema.safeParse(provenanceIn((await readSmallFile(file)).toString())?.['inputs']);
  return inputs.success ? new RecordedInputs(file, inputs.data) : undefined;
};

/** Parses a text as the provenance that layerloom writes; undefined if it is anything else, such as a recipe. */
const provenanceIn = (text: string): Record<string, unknown> | undefined => {
  // A recipe's file may be YAML of any name.
  const value = jsonOrNone(text);
  return isObject(value) && typeof value['layerloom'] === 'string' && 'shards' in value ? value : undefined;
};

/**
 * Returns the complete recipe of a layerloom.json, with its inputs; undefined if the text is no provenance.
 *
 * @throws LayerloomError RECIPE_INVALID for a file of a version that recorded no complete recipe
 */
export const provenanceRecipe = (json: string, file: string): RecordedRecipe | undefined => {
  const provenance = provenanceIn(json);
  if (provenance === undefined) return undefined;
  const inputs = inputsSchema.safeParse(provenance['inputs']);
  const tree = parseTree(json);
  const node = tree === undefined ? undefined : findNodeAtLocation(tree, ['completeRecipe']);
  if (node?.type !== 'object' || !inputs.success)
    throw refused(
      file,
      `records no complete recipe: layerloom ${String(provenance['layerloom'])} wrote it before that was recorded, or it was edited; merge by the recipe's own file`,
    );
  return {
    text: blankAround(json, node.offset, node.offset + node.length),
    recorded: new RecordedInputs(file, inputs.data),
    recordedFirst: true,
  };
};
