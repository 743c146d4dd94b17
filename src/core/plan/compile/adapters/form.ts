import { LayerloomError } from '../../../base/errors.js';
import { isForbidden } from '../../../base/unless-missing.js';
import { invalid } from '../../../methods/framework/settings.js';
import { methods } from '../../../methods/index.js';
import { replaceModels } from '../../../methods/recipe/model-places.js';
import type { RecipeInput } from '../../../methods/recipes.js';
import { type ModelAddress, parseAddress, printAddress } from '../../../models/address/address.js';
import { splitName, withName } from '../../../models/address/name.js';
import { isGiven, isObject } from '../../../models/checkpoint/json.js';
import { isBareAdapter, readAdapter } from '../../../models/reading/read-model.js';
import { locate, locateIfHere } from '../../../models/sources/locate.js';
import { type OutputForm, outputForms } from './output-forms.js';

type Json = Readonly<Record<string, unknown>>;

/**
 * Converts a recipe's models to the form `as`. `full` turns bare adapters into `BASE+ADAPTER`; `adapter`
 * turns `BASE+ADAPTER` into its adapter. Without `as`, bare adapters give an adapter, whole models full
 * weights.
 *
 * @param as overrides the recipe's own `as`
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

/**
 * For weights by magnitude, which need the base's row counts: adds the base that bare adapters name, if the
 * recipe has none.
 */
const withBase = async (recipe: Json): Promise<Json> => {
  if (recipe['weights'] !== 'magnitude' || isGiven(recipe['base'])) return recipe;
  const { task, models } = recipe;
  const first: unknown = Array.isArray(models) ? models[0] : task;
  if (typeof first !== 'string') return recipe;
  const address = await parseAddress(first);
  return (await isBareAdapter(address)) ? { ...recipe, base: await baseOf(address) } : recipe;
};

/**
 * Replaces the names of all models, also in nested recipes.
 *
 * @param replace gets a model's name and its recipe
 */
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
  const isBare = typeof named === 'string' && (await isBareAdapter(await parseAddress(named)));
  return await replaceTexts(recipe, async (model, of) => {
    const address = await parseAddress(model);
    if (!(await isBareAdapter(address))) return model;
    const base = [of['base'], isBare ? undefined : named].find(
      (one): one is string => typeof one === 'string' && one !== model,
    );
    return withBaseIn(address, base ?? (await baseOf(address)));
  });
};

/** Joins a bare adapter with its base. */
export const onBase = async (model: string, base: string): Promise<string> => {
  const address = await parseAddress(model);
  return (await isBareAdapter(address)) ? withBaseIn(address, base) : model;
};

const withBaseIn = ({ name, ...adapter }: ModelAddress, base: string): string =>
  withName(name, `${splitName(base).rest}+${printAddress(adapter)}`);

/**
 * Returns the available base that an adapter names.
 *
 * @throws LayerloomError BASE_NEEDED, READ_FAILED
 */
export const baseOf = async (model: ModelAddress): Promise<string> => {
  const { checkpoint, config } = await readAdapter(model);
  const { base } = config;
  const needed = (reason: string, cause?: unknown) =>
    new LayerloomError('BASE_NEEDED', { adapter: checkpoint.path, reason }, { cause });
  if (base === undefined) throw needed('does not name its base, which is needed');
  const found = await whereOf(base).catch((error: unknown) => {
    // A path of the machine that trained the adapter may be in an unreadable folder here.
    if (!isForbidden(error)) throw error;
    throw needed(`is of the base ${base}, which is needed: ${(error as Error).message}`, error);
  });
  if (found === undefined) throw needed(`is of the base ${base}, which is needed and is not here`);
  return base;
};

const whereOf = async (model: string) => locateIfHere(await parseAddress(model));

const asAdapter = async (recipe: Json): Promise<Json> => {
  const bases = new Map<string, { base: string; adapter: string }>();
  const replaced = await replaceTexts(recipe, async (model, of) => {
    const address = await parseAddress(model);
    if (address.kind === 'model') {
      if (await isBareAdapter(address)) return model;
      if (of['base'] === model) return model;
      throw new LayerloomError('NO_ADAPTER_FORM', {
        method: String(recipe['method']),
        reason: `${model} is a whole model without an adapter`,
      });
    }
    const [base, adapter] = [printAddress(address.base), printAddress(address.adapter)];
    bases.set((await locate(address.base)).path, { base, adapter });
    return withName(address.name, adapter);
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
