import { isGiven, isObject } from '../../models/checkpoint/json.js';

/** Keys of a recipe that hold a model. */
const roles = ['task', 'language', 'model', 'base', 'donor', 'gates'] as const;

type Json = Readonly<Record<string, unknown>>;

const isRecipe = (value: unknown): value is Json => isObject(value) && typeof value['method'] === 'string';

/**
 * Replaces every model of a recipe, wherever it is named. Nested recipes are passed to `replace` as they are.
 *
 * @param recipe in camel case or YAML's spelling; `{ model, name }` in a list becomes `NAME=MODEL`
 */
export const replaceModels = (
  recipe: Json,
  replace: (model: unknown) => unknown,
): Record<string, unknown> => {
  const modelOf = (value: unknown): unknown => {
    if (!isObject(value) || isRecipe(value) || !('model' in value)) return replace(value);
    const { model, name } = value;
    return replace(typeof model === 'string' && typeof name === 'string' ? `${name}=${model}` : model);
  };
  const entry = (value: unknown): unknown => {
    if (!isObject(value) || isRecipe(value) || !('model' in value)) return replace(value);
    const { model: _model, name: _name, ...parameters } = value as Json;
    const model = modelOf(value);
    return Object.keys(parameters).length === 0 ? model : { model, ...parameters };
  };
  const source = (value: unknown): unknown =>
    isObject(value) ? { ...value, ...inRoles(value, ['model'], modelOf) } : value;
  const ofPart = (value: unknown): unknown => (partWords.has(value) ? value : modelOf(value));
  const part = (value: unknown): unknown =>
    isObject(value)
      ? { ...value, ...inRoles(value, ['model'], ofPart), ...inList(value, 'models', ofPart) }
      : value;
  const slice = (value: unknown): unknown => {
    if (!isObject(value)) return value;
    const { base, sources } = value;
    return { ...value, ...inRoles({ base }, ['base'], modelOf), ...inList({ sources }, 'sources', source) };
  };
  return {
    ...recipe,
    ...inRoles(recipe, roles, modelOf),
    ...inList(recipe, 'models', entry),
    ...inList(recipe, 'importances', replace),
    ...inList(recipe, 'grams', replace),
    ...inList(recipe, 'sharedExperts', entry),
    ...inList(recipe, 'shared_experts', entry),
    ...inList(recipe, 'slices', slice),
    ...inList(recipe, 'parts', part),
    ...inTokenizer(recipe, replace),
  };
};

/** Words by which parts of a swap name models of the recipe. */
export const partWords: ReadonlySet<unknown> = new Set(['task', 'language', 'base']);

/** Words for a tokenizer that are not models. */
export const sourceWords: ReadonlySet<unknown> = new Set(['auto', 'strict', 'base', 'union']);

const inTokenizer = (recipe: Json, replace: (value: unknown) => unknown): Json => {
  const source = (value: unknown) => (sourceWords.has(value) ? value : replace(value));
  const embedding = (value: unknown): unknown => {
    if (!isObject(value) || isRecipe(value)) return replace(value);
    return { ...(value as Json), ...inRoles(value, ['model'], replace) };
  };
  const token = (value: unknown): unknown =>
    isObject(value) ? { ...value, ...inRoles(value, ['source'], embedding) } : value;
  const { tokenizer } = recipe;
  return {
    ...inRoles(recipe, ['tokenizerSource', 'tokenizer_source'], source),
    ...(isObject(tokenizer)
      ? {
          tokenizer: {
            ...tokenizer,
            ...inRoles(tokenizer, ['source'], source),
            ...inList(tokenizer, 'tokens', token),
          },
        }
      : {}),
  };
};

const inRoles = (recipe: Json, keys: readonly string[], replace: (value: unknown) => unknown): Json =>
  Object.fromEntries(keys.filter((key) => isGiven(recipe[key])).map((key) => [key, replace(recipe[key])]));

const inList = (recipe: Json, key: string, replace: (value: unknown) => unknown): Json => {
  const list = recipe[key];
  return Array.isArray(list) ? { [key]: list.map(replace) } : {};
};
