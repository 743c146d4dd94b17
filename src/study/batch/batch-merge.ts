import type { LayerloomError } from '../../core/base/errors.js';
import type { Recipe } from '../../core/methods/recipe/recipe.js';
import type { RecipeInput } from '../../core/methods/recipes.js';

/** A merge of a batch. */
export interface BatchMerge {
  /** Its name, which is also its path relative to the batch's directory. */
  readonly name: string;
  readonly recipe: RecipeInput;
  /** Merges of one entry and language are made together; by default all are of one. */
  readonly entry?: number;
  readonly language?: string;
}

/** A merge of a batch with its recipe. */
export interface ParsedMerge<M extends BatchMerge> {
  readonly merge: M;
  readonly recipe: Recipe;
}

/** A merge of a batch that its method or its models refuse. */
export interface RefusedMerge<M extends BatchMerge> {
  readonly merge: M;
  readonly error: LayerloomError;
}

/** The states of a merge of a batch. */
export const mergeStates = ['pending', 'done', 'failed'] as const;
/** How far a merge of a batch is. */
export type MergeState = (typeof mergeStates)[number];
