import { LayerloomError } from '../base/errors/errors.js';
import type { UncheckedRecipe } from '../methods/framework/declaration/unchecked-recipe.js';
import { methods } from '../methods/index.js';
import { mapModels, modelsOf } from '../methods/recipe/model-places.js';
import { parseAddress, printAddress } from '../models/address/address.js';
import { withName } from '../models/address/name.js';
import { isGiven } from '../models/checkpoint/files/json.js';
import { isBareAdapter } from '../models/reading/read-model.js';
import { locate } from '../models/sources/locate.js';
import { baseOf, withBaseIn } from '../plan/compile/adapters/named-base.js';

/**
 * Converts a recipe's models to the output form `as`. `full` turns bare adapters into `BASE+ADAPTER`;
 * `adapter` turns `BASE+ADAPTER` into the adapter. Without `as`, bare adapters give an adapter, and whole
 * models give full weights.
 *
 * @throws BASE_NEEDED, NO_ADAPTER_FORM, ADAPTERS_DIFFER
 */
export const inForm = async (recipe: UncheckedRecipe): Promise<UncheckedRecipe> => {
  if (recipe['as'] === 'full') return await asFull(recipe);
  return await withBase(recipe['as'] === 'adapter' ? await asAdapter(recipe) : recipe);
};

/** For magnitude weights, adds the base that bare adapters name, if missing. */
const withBase = async (recipe: UncheckedRecipe): Promise<UncheckedRecipe> => {
  const { weights, base, task, models } = recipe;
  const [first] = modelsOf({ task, models });
  if (weights !== 'magnitude' || isGiven(base) || typeof first !== 'string') return recipe;
  const address = await parseAddress(first);
  return (await isBareAdapter(address)) ? { ...recipe, base: await baseOf(address) } : recipe;
};

const mapTexts = (
  recipe: UncheckedRecipe,
  replace: (model: string, of: UncheckedRecipe) => Promise<string>,
): Promise<UncheckedRecipe> =>
  mapModels(recipe, (model) =>
    typeof model === 'string' ? replace(model, recipe) : mapTexts(model, replace),
  );

const asFull = async (recipe: UncheckedRecipe): Promise<UncheckedRecipe> => {
  const { base: named } = recipe;
  const isBare = typeof named === 'string' && (await isBareAdapter(await parseAddress(named)));
  return await mapTexts(recipe, async (model, of) => {
    const address = await parseAddress(model);
    if (!(await isBareAdapter(address))) return model;
    const base = [of['base'], isBare ? undefined : named].find(
      (one): one is string => typeof one === 'string' && one !== model,
    );
    return withBaseIn(address, base ?? (await baseOf(address)));
  });
};

const asAdapter = async (recipe: UncheckedRecipe): Promise<UncheckedRecipe> => {
  const bases = new Map<string, { base: string; adapter: string }>();
  const replaced = await mapTexts(recipe, async (model, of) => {
    const address = await parseAddress(model);
    if (address.kind === 'model') {
      if (of['base'] === model || (await isBareAdapter(address))) return model;
      throw new LayerloomError('NO_ADAPTER_FORM', {
        method: recipe.method,
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
  const takesBase = methods.get(recipe.method)?.takes.base === 'optional';
  return first === undefined || !takesBase || replaced['base'] !== undefined
    ? replaced
    : { ...replaced, base: first.base };
};
