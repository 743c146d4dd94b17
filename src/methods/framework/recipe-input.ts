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

/** The tokenizer and the vocabulary of a merge's output. */
export interface TokenizerParameters {
  /**
   * - `auto`, the default: the union where every token that models share has one id, with at least as many
   *   rows as the largest model has; else an error.
   * - `strict`: an error where vocabularies differ.
   * - `union`: all tokens of all models, the base's first; `base`: the base's, or the first model's; a model
   *   as the recipe writes it: that model's. As many rows as there are tokens, as in mergekit.
   */
  source?: ModelInput | undefined;
  /** Tokens whose embeddings are to be taken from somewhere else than by the source's rule. */
  tokens?: readonly TokenParameters[] | undefined;
  /** Adds rows until their number is a multiple of this; each is the mean of the others. */
  padToMultipleOf?: number | undefined;
}

/** Where the embedding of a token comes from. A token that no model has is added to the vocabulary. */
export interface TokenParameters {
  token: string;
  /**
   * A model as the recipe writes it, which has the token; another token of a model, by its text or its id; or
   * zeros. Default: by the source's rule.
   */
  source?:
    | ModelInput
    | { model: ModelInput; token: string }
    | { model: ModelInput; tokenId: number }
    | { zero: true }
    | undefined;
  /** Also for models that have the token. Default false. */
  force?: boolean | undefined;
}

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
  /** `source` of `tokenizer`, where that is all there is to say. */
  tokenizerSource?: ModelInput | undefined;
  /** The output's tokenizer and vocabulary, where the models differ in theirs. */
  tokenizer?: TokenizerParameters | undefined;
  /**
   * The output's chat template: its text (Jinja), the name of a known format (`chatml`, `llama3`, …), or `auto`,
   * which is the one that most of the models have. Default: that of the model whose tokenizer it gets.
   */
  chatTemplate?: string | undefined;
  /**
   * The form of the output: a LoRA adapter, or full weights; an option of the call goes before it. Default: an adapter where
   * all models are bare adapters. Not in a recipe that stands in a model's place.
   */
  as?: 'adapter' | 'full' | undefined;
  /**
   * Where the output is a LoRA adapter: the rank of averaged products, at most. Those of a higher one are truncated, by their
   * singular value decomposition; copies keep their rank. Default: averages are exact, of the rank that all have together.
   * Not in a recipe that stands in a model's place.
   */
  rank?: number | undefined;
  /**
   * Compute with values that are NaN or infinite, and write what comes of them, instead of refusing them with NON_FINITE; an
   * option of the call goes before it. Copies are never looked at. Not in a recipe that stands in a model's place. Default
   * false.
   */
  allowNonFinite?: boolean | undefined;
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
