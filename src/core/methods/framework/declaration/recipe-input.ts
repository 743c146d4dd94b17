import type { z } from 'zod';
import type { commonSettings, outputSettings } from './common-settings.js';

/**
 * Parameters of layerloom's methods by name. methods/recipes.ts fills it in, which avoids an import cycle.
 */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging
export interface RecipesByMethod {}

/**
 * Parameters of methods from outside, by name, so that `merge` knows their recipes. A module adds its own:
 *
 * @example declare module 'layerloom' { interface CustomMethods { expo: MethodParameters<typeof expo> } }
 */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging
export interface CustomMethods {}

/** The tokenizer and vocabulary of a merge's output. */
export interface TokenizerParameters {
  /**
   * - `auto` (default): the union, if shared tokens have equal ids in all models, with at least as many rows
   *   as the largest model; else an error.
   * - `strict`: an error if vocabularies differ.
   * - `union`: all tokens, the base's first; `base`: the base's or the first model's; a model as the recipe
   *   writes it: that model's. As many rows as tokens, as in mergekit.
   */
  source?: ModelInput | undefined;
  /** Tokens whose embeddings do not follow the source's rule. */
  tokens?: readonly TokenParameters[] | undefined;
  /** Adds rows, each the mean of the others, up to a multiple of this. */
  padToMultipleOf?: number | undefined;
}

/** The source of a token's embedding. A token of no model is added to the vocabulary. */
export interface TokenParameters {
  token: string;
  /**
   * A model that has the token, written as in the recipe; another token of a model; or zeros. Default: the
   * rule of the tokenizer's `source`.
   */
  source?:
    | ModelInput
    | { model: ModelInput; token: string }
    | { model: ModelInput; tokenId: number }
    | { zero: true }
    | undefined;
  /** Override it in models that have the token. Default false. */
  force?: boolean | undefined;
}

/** Parameters of every recipe; others are in common-settings.ts. */
export interface CommonParameters extends z.input<typeof commonSettings>, z.input<typeof outputSettings> {
  /** Short for a `tokenizer` with only `source`. */
  tokenizerSource?: ModelInput | undefined;
  /** The output's tokenizer and vocabulary, if the models' differ. */
  tokenizer?: TokenizerParameters | undefined;
}

type RecipesOf<ByMethod> = {
  [Name in keyof ByMethod]: { method: Name } & ByMethod[Name] & CommonParameters;
}[keyof ByMethod];

/** A merge as a caller describes it, in camel case. */
export type RecipeInput = RecipesOf<RecipesByMethod> | RecipesOf<CustomMethods>;

/**
 * A model: path of a directory or a file of weights, or `org/name` in the hub cache, either after `NAME=`; or
 * a recipe that makes it.
 */
export type ModelInput = string | RecipeInput;
