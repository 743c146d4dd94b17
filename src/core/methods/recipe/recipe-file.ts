import { extname } from 'node:path';
import { codeOf, LayerloomError, reasonOf } from '../../base/errors/errors.js';
import { nearPath } from '../../base/files/near-path.js';
import { readSmallFile } from '../../models/checkpoint/files/small-file.js';
import {
  type DocumentKind,
  parseDocuments,
  type RepeatedKey,
  recipeKind,
  refuseRepeated,
} from './document/document.js';
import { invalidRecipe } from './document/invalid.js';
import { isText, type Mapping, mapping } from './document/tree.js';
import { cardRecipe, provenanceRecipe, type RecordedRecipe } from './recorded-recipe.js';

export interface RecipeDocument {
  readonly name: string | undefined;
  readonly recipe: Mapping;
}

/** True for a mapping in YAML's flow style, such as JSON. */
export const isRecipeText = (given: string): boolean => given.startsWith('{');

export const recipeKeys = [
  ...['method', 'models', 'model', 'task', 'language', 'base', 'slices'],
  ...['merge_method', 'base_model', 'experts'],
];

/** Maximum size of a recipe. The limit catches a checkpoint given by mistake. */
const largest = 1_000_000;

/** Maximum size of a record, which has lines for each shard and perhaps each tensor. */
const largestProvenance = 256 * largest;

export interface RecipeFile {
  readonly documents: readonly [RecipeDocument, ...RecipeDocument[]];
  readonly recorded?: Pick<RecordedRecipe, 'recorded' | 'recordedFirst'>;
  /** Repeated keys in mergekit's dialect; the last one counts. */
  readonly repeated: readonly RepeatedKey[];
}

/**
 * Reads YAML, a model card (`.md`) or an output's layerloom.json.
 *
 * @throws RECIPE_INVALID, also for an unreadable file
 */
export const readRecipeFile = async (file: string): Promise<RecipeFile> =>
  recipeFileOf(await recipeIn(file), file);

/**
 * Parses a recipe's text, called `name` in messages.
 *
 * @throws RECIPE_INVALID
 */
export const readRecipeText = (text: string, name: string): RecipeFile => {
  if (text.length > largest)
    throw new LayerloomError('RECIPE_INVALID', { file: name, reason: 'is longer than a megabyte' });
  return recipeFileOf({ text, recordedFirst: false }, name);
};

const recipeFileOf = ({ text, part, ...recorded }: RecordedRecipe, file: string): RecipeFile => {
  const repeated: RepeatedKey[] = [];
  const kind: DocumentKind = {
    ...recipeKind,
    // `merges` is an experiment's key; the error names the command for experiments.
    keys: [...recipeKeys, 'merges'],
    onRepeated: (document, keys) => {
      if (!document.entries.has('merge_method')) refuseRepeated(document, keys);
      repeated.push(...keys);
    },
  };
  return { documents: documentsIn(parseDocuments(text, file, kind, part)), recorded, repeated };
};

const recipeIn = async (file: string): Promise<RecordedRecipe> => {
  const extension = extname(file).toLowerCase();
  const text = await readText(file, undefined, extension === '.json' ? largestProvenance : largest);
  if (extension === '.md') return cardRecipe(text, file);
  return (extension === '.json' ? provenanceRecipe(text, file) : undefined) ?? { text, recordedFirst: false };
};

const documentsIn = ([first, ...others]: readonly [Mapping, ...Mapping[]]): [
  RecipeDocument,
  ...RecipeDocument[],
] => {
  const documents: [RecipeDocument, ...RecipeDocument[]] = [documentOf(first), ...others.map(documentOf)];
  const seen = new Set<string | undefined>();
  for (const { name, recipe } of documents) {
    if (seen.has(name))
      throw invalidRecipe(recipe.mark, {
        ...(name === undefined ? {} : { key: name }),
        reason: `a second document ${name === undefined ? 'without a name' : 'of this name'}`,
        expected: 'documents that their name: tells apart',
      });
    seen.add(name);
  }
  return documents;
};

/** @throws RECIPE_INVALID if the file is unreadable, not text, or too large */
export const readText = async (file: string, what = 'a recipe', most = largest): Promise<string> => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(
      await readSmallFile(file, { most, what, pipes: true }),
    );
  } catch (cause) {
    throw new LayerloomError('RECIPE_INVALID', { file, ...whyUnread(file, what, cause) }, { cause });
  }
};

const whyUnread = (
  file: string,
  what: string,
  cause: unknown,
): { reason: string; expected?: string; nearest?: string | undefined } => {
  if (cause instanceof TypeError) return { reason: 'cannot be read: it is not text in UTF-8' };
  const code = codeOf(cause);
  if (code === 'EISDIR') return { reason: 'is a directory', expected: `the file of ${what}` };
  if (code !== 'ENOENT') return { reason: `cannot be read: ${reasonOf(cause)}` };
  if (file === '-') return { reason: 'standard input is not read', expected: `the file of ${what}` };
  return { reason: 'no such file', nearest: nearPath(file) };
};

const documentOf = (recipe: Mapping): RecipeDocument => {
  const name = recipe.entries.get('name')?.value;
  if (name === undefined) return { name, recipe };
  if (!isText(name) || name.value === '')
    throw invalidRecipe(name.mark, { key: 'name', reason: 'no name', expected: 'text' });
  const rest = new Map(recipe.entries);
  rest.delete('name');
  return { name: name.value, recipe: mapping(recipe.mark, rest) };
};
