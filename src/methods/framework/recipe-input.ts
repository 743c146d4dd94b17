import type { DtypeName } from '../../tensor/dtype.js';

/**
 * Parameters of layerloom's methods by the method's name. methods/recipes.ts fills it, since parameters name
 * recipes in turn.
 */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging
export interface RecipesByMethod {}

/**
 * Parameters of methods registered from outside, by the method's name, so that `merge` knows their recipes.
 * Empty until a module adds its own:
 *
 * @example declare module 'layerloom' { interface CustomMethods { expo: MethodParameters<typeof expo> } }
 */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging
export interface CustomMethods {}

/** Parameters that every recipe may have, whatever its method. */
export interface CommonParameters {
  /**
   * The output's floating dtype: every floating tensor is converted, copied ones too. Default: each tensor
   * keeps the dtype that it has in the first model.
   */
  dtype?: DtypeName | undefined;
  /**
   * The same as `dtype`, and goes before it: in mergekit's recipes, which may have both, `dtype` is that of
   * the arithmetic.
   */
  outDtype?: DtypeName | undefined;
  /**
   * The model whose tokenizer files the output gets: `base`, a model as the recipe writes it, or `union`,
   * which is the first model's since all vocabularies must agree. Default: the first model.
   */
  tokenizerSource?: string | undefined;
  /** The text of a chat template (Jinja) that the output gets. Default: the first model's. */
  chatTemplate?: string | undefined;
  /**
   * A shard for each layer, or shards as full as `maxShardSize` allows; options of the call go before it.
   * Not in a recipe that stands in a model's place. Default `layer`.
   */
  layout?: 'layer' | 'size' | undefined;
  /** Bytes of tensors in a shard at most, or a size such as `5GB`, the default; as `layout`. */
  maxShardSize?: string | number | undefined;
}

type RecipesOf<ByMethod> = {
  [Name in keyof ByMethod]: { method: Name } & ByMethod[Name] & CommonParameters;
}[keyof ByMethod];

/** A merge as a caller describes it: the method's name, its parameters and the common ones, in camel case. */
export type RecipeInput = RecipesOf<RecipesByMethod> | RecipesOf<CustomMethods>;

/**
 * A model: the path of a directory or of a `.safetensors` file, `org/name` in the local hub cache, either
 * behind `NAME=`; or a recipe, whose result is the model.
 */
export type ModelInput = string | RecipeInput;
