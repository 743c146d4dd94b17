import type { LayerloomError } from '../../../core/base/errors/errors.js';
import type { Recipe } from '../../../core/methods/recipe/recipe.js';
import type { RecipeInput } from '../../../core/methods/recipes.js';

/** A merge of a batch. */
export interface BatchMerge {
  /** The merge's name, and its path relative to the batch's directory. */
  readonly name: string;
  readonly recipe: RecipeInput;
  /** Merges of one entry and language are made together. Default: all merges are. */
  readonly entry?: number;
  readonly language?: string;
}

export interface ParsedMerge<M extends BatchMerge> {
  readonly merge: M;
  readonly recipe: Recipe;
}

/** A merge that its method or its models refuse. */
export interface RefusedMerge<M extends BatchMerge> {
  readonly merge: M;
  readonly error: LayerloomError;
}

export const mergeStates = ['pending', 'done', 'failed'] as const;
/** The progress of a merge. */
export type MergeState = (typeof mergeStates)[number];
