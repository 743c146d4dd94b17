import { LayerloomError } from '../../base/errors.js';
import { splitAdapter } from '../../checkpoint/adapter-text.js';
import { isGiven, isObject } from '../../checkpoint/json.js';
import { locate } from '../../checkpoint/locate.js';
import { splitName } from '../../checkpoint/model-place.js';
import { invalid } from '../../methods/framework/settings.js';
import { methods } from '../../methods/index.js';
import type { RecipeInput } from '../../methods/recipes.js';
import { isBareAdapter, openAdapter } from '../../model/adapters/open-adapter.js';
import { replaceModels } from '../../recipe/model-places.js';
import { type OutputForm, outputForms } from './output-forms.js';

type Json = Readonly<Record<string, unknown>>;

/**
 * Returns a recipe whose models give the form that `as` asks for, of the call or of the recipe: for `full` each bare adapter
 * becomes `BASE+ADAPTER`, for `adapter` each `BASE+ADAPTER` its adapter. Without it a recipe is returned as it is: bare
 * adapters give an adapter, and whole models full weights.
 *
 * @throws LayerloomError INVALID_PARAMETER, BASE_NEEDED, NO_ADAPTER_FORM, ADAPTERS_DIFFER
 */
export const inForm = async (given: RecipeInput, as?: OutputForm): Promise<RecipeInput> => {
  if (!isObject(given)) return given;
  const { as: own, ...recipe } = given as Json;
  const form = as ?? own;
  if (form === undefined || form === null) return (await withBase(recipe)) as unknown as RecipeInput;
  if (form === 'full') return (await asFull(recipe)) as unknown as RecipeInput;
  if (form === 'adapter') return (await withBase(await asAdapter(recipe))) as unknown as RecipeInput;
  throw invalid(['as'], form, outputForms.join(' or '));
};

/** Weights by magnitude count the rows of the base: a recipe of bare adapters without one gets that which they name. */
const withBase = async (recipe: Json): Promise<Json> => {
  if (recipe['weights'] !== 'magnitude' || isGiven(recipe['base'])) return recipe;
  const { task, models } = recipe;
  const first: unknown = Array.isArray(models) ? models[0] : task;
  if (typeof first !== 'string' || !(await isBareAdapter(first))) return recipe;
  return { ...recipe, base: await baseOf(first) };
};

/** Replaces the texts of all models of a recipe and of those in it; `replace` gets a text and the recipe that it stands in. */
const replaceTexts = async (
  recipe: Json,
  replace: (model: string, of: Json) => Promise<string>,
): Promise<Record<string, unknown>> => {
  const found = new Map<unknown, unknown>();
  const models: unknown[] = [];
  replaceModels(recipe, (model) => {
    models.push(model);
    return model;
  });
  for (const model of models)
    if (typeof model === 'string') found.set(model, await replace(model, recipe));
    else if (isObject(model)) found.set(model, await replaceTexts(model, replace));
  return replaceModels(recipe, (model) => (found.has(model) ? found.get(model) : model));
};

const asFull = async (recipe: Json): Promise<Json> => {
  const { base: named } = recipe;
  const base = typeof named === 'string' && !(await isBareAdapter(named)) ? named : undefined;
  return await replaceTexts(recipe, async (model, of) => {
    if (!(await isBareAdapter(model))) return model;
    const own = typeof of['base'] === 'string' && of['base'] !== model ? of['base'] : base;
    return await onBase(model, own ?? (await baseOf(model)));
  });
};

/** Returns a model as a whole one: a bare adapter with its base. */
export const onBase = async (model: string, base: string): Promise<string> => {
  if (!(await isBareAdapter(model))) return model;
  const name = await nameBefore(model);
  const text = `${withoutName(base)}+${name?.rest ?? model}`;
  return name === undefined ? text : `${name.name}=${text}`;
};

/** Returns the base that an adapter names, which must be here. @throws LayerloomError BASE_NEEDED */
export const baseOf = async (model: string): Promise<string> => {
  const { checkpoint, config } = await openAdapter(model);
  const { base } = config;
  const found = base === undefined ? undefined : await locate(base).catch(() => undefined);
  if (base !== undefined && found !== undefined) return base;
  throw new LayerloomError('BASE_NEEDED', {
    adapter: checkpoint.path,
    reason:
      base === undefined
        ? 'does not say of which base it is, which is needed'
        : `is of the base ${base}, which is needed and is not here`,
  });
};

const nameBefore = async (model: string) => {
  const named = splitName(model);
  return named !== undefined && (await isBareAdapter(named.rest)) ? named : undefined;
};

const withoutName = (model: string): string => splitName(model)?.rest ?? model;

const asAdapter = async (recipe: Json): Promise<Json> => {
  const bases = new Map<string, { base: string; adapter: string }>();
  const replaced = await replaceTexts(recipe, async (model, of) => {
    if (await isBareAdapter(model)) return model;
    const parts = await splitAdapter(model);
    if (parts === undefined) {
      if (of['base'] === model) return model;
      throw new LayerloomError('NO_ADAPTER_FORM', {
        method: String(recipe['method']),
        reason: `${model} is a whole model, of which no adapter is known`,
      });
    }
    const { name, base, adapter } = parts;
    bases.set((await locate(base)).path, { base, adapter });
    return name === undefined ? adapter : `${name}=${adapter}`;
  });
  const [first, other] = [...bases.values()];
  if (first !== undefined && other !== undefined)
    throw new LayerloomError('ADAPTERS_DIFFER', {
      first: first.adapter,
      other: other.adapter,
      what: `their base (${other.base} against ${first.base})`,
    });
  const takesBase = methods.get(String(recipe['method']))?.takes.base === 'optional';
  return first === undefined || !takesBase || replaced['base'] !== undefined
    ? replaced
    : { ...replaced, base: first.base };
};
