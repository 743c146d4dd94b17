import type { LayerloomError } from '../../../core/base/errors/errors.js';
import type { Recipe } from '../../../core/methods/recipe/recipe.js';
import type { RecipeInput } from '../../../core/methods/recipes.js';

/** A merge to make in a batch. */
export interface BatchMerge {
  /** Name, and the path relative to the batch's directory. */
  readonly name: string;
  readonly recipe: RecipeInput;
  /** Merges with equal entry and language are made together. Default: all merges together. */
  readonly entry?: number;
  readonly language?: string;
}

export interface ParsedMerge<M extends BatchMerge> {
  readonly merge: M;
  readonly recipe: Recipe;
}

/** A merge refused because of its method or models. */
export interface RefusedMerge<M extends BatchMerge> {
  readonly merge: M;
  readonly error: LayerloomError;
}

export const mergeStates = ['pending', 'done', 'failed'] as const;
/** The states that a merge can have. */
export type MergeState = (typeof mergeStates)[number];
