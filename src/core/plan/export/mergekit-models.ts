import { splitName } from '../../models/address/name.js';
import { isObject } from '../../models/checkpoint/files/json.js';
import { cannotSay } from './mergekit-unsupported.js';

// Formats models as mergekit reads them.

type Json = Readonly<Record<string, unknown>>;

export const modelEntry = (value: unknown): Json =>
  isObject(value) && 'model' in value && !('method' in value) ? value : { model: value };

/** Returns a model as mergekit reads it: without `NAME=`, and with `@` and `+` only within a path. */
export const textOfModel = (text: string): unknown => {
  const path = splitName(text).rest;
  const isPath = /^(\.{0,2}\/)/.test(path);
  return isPath && /[@+]/.test(path) ? { model: { path } } : path;
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
