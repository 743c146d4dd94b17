import type { z } from 'zod';
import type { commonSettings, outputSettings } from './common-settings.js';

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

/** Parameters that every recipe may have, whatever its method (common-settings.ts has the others). */
export interface CommonParameters extends z.input<typeof commonSettings>, z.input<typeof outputSettings> {
  /** `source` of `tokenizer`, where that is all there is to say. */
  tokenizerSource?: ModelInput | undefined;
  /** The output's tokenizer and vocabulary, where the models differ in theirs. */
  tokenizer?: TokenizerParameters | undefined;
}

type RecipesOf<ByMethod> = {
  [Name in keyof ByMethod]: { method: Name } & ByMethod[Name] & CommonParameters;
}[keyof ByMethod];

/** A merge as a caller describes it: the method's name, its parameters and the common ones, in camel case. */
export type RecipeInput = RecipesOf<RecipesByMethod> | RecipesOf<CustomMethods>;

/**
 * A model: the path of a directory or of a file of weights, `org/name` in the local hub cache, either
 * behind `NAME=`; or a recipe, whose result is the model.
 */
export type ModelInput = string | RecipeInput;
