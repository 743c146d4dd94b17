import { isGiven, isObject } from '../../models/checkpoint/files/json.js';
import { isUncheckedRecipe, type UncheckedRecipe } from '../framework/declaration/unchecked-recipe.js';

export type WrittenModel = string | UncheckedRecipe;

type Replace = (model: WrittenModel) => unknown;

/** Replaces models in a value. Values that are not models stay, for the recipe's check to refuse. */
type Walk = (value: unknown, replace: Replace) => unknown;

export const partWords: ReadonlySet<unknown> = new Set(['task', 'language', 'base']);

/** Words for a tokenizer's source that are not models. */
export const sourceWords: ReadonlySet<unknown> = new Set(['auto', 'strict', 'base', 'union']);

const plain: Walk = (value, replace) =>
  typeof value === 'string' || isUncheckedRecipe(value) ? replace(value) : value;

const isEntry = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isObject(value) && 'model' in value && !isUncheckedRecipe(value);

const model: Walk = (value, replace) => {
  if (!isEntry(value)) return plain(value, replace);
  const { model: inner, name } = value;
  return plain(typeof inner === 'string' && typeof name === 'string' ? `${name}=${inner}` : inner, replace);
};

const entry: Walk = (value, replace) => {
  const replaced = model(value, replace);
  if (!isEntry(value)) return replaced;
  const { model: _model, name: _name, ...parameters } = value;
  return Object.keys(parameters).length === 0 ? replaced : { model: replaced, ...parameters };
};

const listOf =
  (walk: Walk): Walk =>
  (value, replace) =>
    Array.isArray(value) ? value.map((item) => walk(item, replace)) : value;

const unless =
  (words: ReadonlySet<unknown>, walk: Walk): Walk =>
  (value, replace) =>
    words.has(value) ? value : walk(value, replace);

const inKeys = <Block extends Readonly<Record<string, unknown>>>(
  value: Block,
  walks: Readonly<Record<string, Walk>>,
  replace: Replace,
): Block => ({
  ...value,
  ...Object.fromEntries(
    Object.entries(walks)
      .filter(([key]) => isGiven(value[key]))
      .map(([key, walk]) => [key, walk(value[key], replace)]),
  ),
});

const mapping =
  (walks: Readonly<Record<string, Walk>>): Walk =>
  (value, replace) =>
    isObject(value) ? inKeys(value, walks, replace) : value;

const source = unless(sourceWords, plain);
const embedding: Walk = (value, replace) =>
  isEntry(value) ? inKeys(value, { model: plain }, replace) : plain(value, replace);
const ofPart = unless(partWords, model);

/** Keys that hold models, in camel case and as in YAML. */
const places: Readonly<Record<string, Walk>> = {
  ...{ task: model, language: model, model, base: model, donor: model, gates: model, config: model },
  models: listOf(entry),
  ...{ importances: listOf(plain), grams: listOf(plain) },
  ...{ sharedExperts: listOf(entry), shared_experts: listOf(entry) },
  slices: listOf(mapping({ base: model, sources: listOf(mapping({ model })) })),
  parts: listOf(mapping({ model: ofPart, models: listOf(ofPart) })),
  ...{ tokenizerSource: source, tokenizer_source: source },
  tokenizer: mapping({ source, tokens: listOf(mapping({ source: embedding })) }),
};

/** Replaces a recipe's models; passes nested recipes to `replace` whole. */
export const replaceModels = <Recipe extends Readonly<Record<string, unknown>>>(
  recipe: Recipe,
  replace: Replace,
): Recipe => inKeys(recipe, places, replace);

export const modelsOf = (recipe: Readonly<Record<string, unknown>>): WrittenModel[] => {
  const found: WrittenModel[] = [];
  replaceModels(recipe, (each) => found.push(each));
  return found;
};

/** Replaces models in turn; returns the same object if no model changes. */
export const mapModels = async (
  recipe: UncheckedRecipe,
  replace: (model: WrittenModel) => WrittenModel | Promise<WrittenModel>,
): Promise<UncheckedRecipe> => {
  const found = new Map<WrittenModel, WrittenModel>();
  for (const each of modelsOf(recipe)) if (!found.has(each)) found.set(each, await replace(each));
  const isSame = [...found].every(([before, after]) => before === after);
  return isSame ? recipe : replaceModels(recipe, (each) => found.get(each));
};
