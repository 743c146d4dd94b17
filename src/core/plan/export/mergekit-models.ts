import { splitName } from '../../models/address/name.js';
import { isObject } from '../../models/checkpoint/files/json.js';
import type { PlannedInput } from '../plan.js';
import { cannotSay } from './mergekit-unsupported.js';
import { partsFrom } from './own-recipe.js';

type Json = Readonly<Record<string, unknown>>;

export const modelEntry = (value: unknown): Json =>
  isObject(value) && 'model' in value && !('method' in value) ? value : { model: value };

/** Drops `NAME=`, and writes a path with `@` or `+` as a mapping, because mergekit splits texts there. */
export const textOfModel = (text: string): unknown => {
  const path = splitName(text).rest;
  const isPath = /^(\.{0,2}\/)/.test(path);
  return isPath && /[@+]/.test(path) ? { model: { path } } : path;
};

const placeOf = (text: string): Json => {
  const [path, revision] = /^\.{0,2}\//.test(text) ? [text] : text.split('@');
  return { path, ...(revision === undefined ? {} : { revision }) };
};

export const withAdapters = (recipe: Json, inputs: readonly PlannedInput[], folder: string): Json => {
  const parts = new Map(inputs.map((input) => partsFrom(input, folder)).map((of) => [of.join('+'), of]));
  const respelt = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(respelt);
    if (!isObject(value)) return value;
    const [model, lora] = (isObject(value['model']) && parts.get(String(value['model']['path']))) || [];
    if (model !== undefined && lora !== undefined) return { model: placeOf(model), lora: placeOf(lora) };
    return Object.fromEntries(Object.entries(value).map(([key, of]) => [key, respelt(of)]));
  };
  return respelt(recipe) as Json;
};

/** @throws EXPORT_UNSUPPORTED for a nested recipe */
export const modelOf = (model: unknown): unknown =>
  typeof model === 'string'
    ? textOfModel(model)
    : cannotSay('a recipe in the place of a model', 'merge it by itself, and name its output');

/** Adds the base to a slice's sources, where mergekit expects it, with the first source's layers. */
export const withBase = (sources: readonly Json[], base: unknown): readonly Json[] => {
  const written = JSON.stringify(modelOf(base));
  if (sources.some(({ model }) => JSON.stringify(model) === written)) return sources;
  return [...sources, { model: modelOf(base), layer_range: sources[0]?.['layer_range'] }];
};
