import type { z } from 'zod';
import type { Place } from '../architecture/architecture.js';

/** A model as a recipe refers to it. */
export interface ModelReference {
  /** What the recipe uses it for (`task`, `language`, `base`, `model`). */
  readonly role: string;
  /** A path, `org/name`, or `NAME=PATH`. */
  readonly model: string;
}

/**
 * What one output tensor is, over the recipe's merged models by their place in `models`. The set is small and closed:
 * methods compile to it, and the engine carries it out.
 */
export type Expression =
  /** The tensor of one model, byte for byte. */
  | { readonly kind: 'copy'; readonly model: number }
  /** Σ weight · tensor, by the numeric contract. */
  | {
      readonly kind: 'linear';
      readonly terms: readonly { readonly model: number; readonly weight: number }[];
    };

/** A method with its parameters settled: a function from a tensor's place to its expression. Pure, without I/O. */
export interface Compiled {
  /** The parameters as they are used, for `layerloom.json` and the model card; in YAML's spelling. */
  readonly resolved: Readonly<Record<string, unknown>>;
  expressionOf(place: Place): Expression;
}

/** A way to merge. One file under src/methods/ each, registered in src/methods/index.ts. */
export interface Method<Parameters> {
  /** In snake_case, as recipes spell it. */
  readonly name: string;
  readonly title: string;
  /** Defaults and checks of the parameters; `shape` names them. */
  readonly schema: z.ZodType<Parameters> & { readonly shape: object };
  /** Tags of the model card. */
  readonly tags: readonly string[];
  /**
   * The models to merge, in the order of terms. The first gives the output its tensors' names and dtypes, its side files and its
   * configuration.
   */
  models(parameters: Parameters): readonly ModelReference[];
  /** Models whose tensors no expression uses and which are still to fit the others. */
  companions(parameters: Parameters): readonly ModelReference[];
  /** Whether the output is the first model still, and keeps its model card. */
  readonly keepsCard: boolean;
  /** Whether tensors must have layer numbers 0 … L−1. */
  readonly needsLayers: boolean;
  /**
   * @param layers L, the models' number of layers
   * @throws LayerloomError where the parameters do not fit it
   */
  compile(parameters: Parameters, layers: number): Compiled;
}
