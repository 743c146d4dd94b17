import type { z } from 'zod';
import type { commonSettings, outputSettings } from './common-settings.js';

/** Recipes by method. methods/recipes.ts fills it, so that no method is imported here. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging
export interface RecipesByMethod {}

/**
 * Registered methods by name, which types recipes for `merge`. A module adds its own:
 *
 * @example declare module 'layerloom' { interface CustomMethods { expo: MethodParameters<typeof expo> } }
 */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging
export interface CustomMethods {}

/** The tokenizer and vocabulary of a merge. */
export interface TokenizerParameters {
  /**
   * - `auto` (default): the union of vocabularies, with at least as many rows as the largest model. Fails if a shared
   * token has two ids.
   * - `strict`: fails if vocabularies differ.
   * - `union`: all tokens, the base's first; `base`: tokens of the base, or of the first model; a model: its
   * tokens. As many rows as tokens, as in mergekit.
   */
  source?: ModelInput | undefined;
  /** Tokens whose embeddings do not come from `source`. */
  tokens?: readonly TokenParameters[] | undefined;
  /** Rounds the number of rows up to a multiple. New rows are the mean of the existing rows. */
  padToMultipleOf?: number | undefined;
}

/** A token and the source of its embedding. A token in no model is added to the vocabulary. */
export interface TokenParameters {
  token: string;
  /** A model that has the token; another token of a model; or zeros. Default: the tokenizer's `source`. */
  source?:
    | ModelInput
    | { model: ModelInput; token: string }
    | { model: ModelInput; tokenId: number }
    | { zero: true }
    | undefined;
  /** Also replace the embedding in models that have the token. Default false. */
  force?: boolean | undefined;
}

/** Settings of any recipe; see also common-settings.ts. */
export interface CommonParameters extends z.input<typeof commonSettings>, z.input<typeof outputSettings> {
  /** Short for a `tokenizer` with only `source`. */
  tokenizerSource?: ModelInput | undefined;
  tokenizer?: TokenizerParameters | undefined;
}

type RecipesOf<ByMethod> = {
  [Name in keyof ByMethod]: { method: Name } & ByMethod[Name] & CommonParameters;
}[keyof ByMethod];

/** A merge given as an object with keys in camel case. */
export type RecipeInput = RecipesOf<RecipesByMethod> | RecipesOf<CustomMethods>;

/** A model: a path, or `org/name` in the hub cache, after an optional `NAME=`; or a recipe that makes it. */
export type ModelInput = string | RecipeInput;
