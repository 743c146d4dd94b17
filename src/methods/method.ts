import type { z } from 'zod';
import type { Place } from '../architecture/architecture.js';
import type { Rows } from '../tensor/rows.js';

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
    }
  /** Rows of one model's matrix where `kept` is 1, those of `base` elsewhere, byte for byte. */
  | {
      readonly kind: 'rowSelect';
      readonly model: number;
      readonly base: number;
      readonly rows: Rows;
      readonly kept: Uint8Array;
    };

/** The task vectors that a method must know before it compiles: of models against their base, by rows. */
export interface NeededStatistics {
  readonly base: string;
  readonly experts: readonly string[];
  readonly rows: Rows;
}

/** The task vector of a model, row by row (`analyze`). */
export interface TaskVectorStatistics {
  readonly name: string;
  /** Of the base it was taken from. */
  readonly base: { readonly name: string };
  readonly rows: Rows;
  readonly tensors: Readonly<
    Record<
      string,
      {
        readonly rows: number;
        readonly parametersPerRow: number;
        readonly meanMav: number;
        readonly nonFiniteRows: number;
      }
    >
  >;
  /** MAV of each row; NaN for a row with a NaN or an infinity. */
  readonly vectors: ReadonlyMap<string, Float32Array>;
}

/** A method with its parameters settled: a function from a tensor's place to its expression. Pure, without I/O. */
export interface Compiled {
  /** The parameters as they are used, for `layerloom.json` and the model card; in YAML's spelling. */
  readonly resolved: Readonly<Record<string, unknown>>;
  expressionOf(place: Place, tensor: string): Expression;
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
  /** What must be known of whole tensors first; undefined where headers are enough. */
  statistics?(parameters: Parameters): NeededStatistics | undefined;
  /**
   * @param layers L, the models' number of layers
   * @param statistics of the experts that `statistics` names, in their order
   * @throws LayerloomError where the parameters do not fit them
   */
  compile(parameters: Parameters, layers: number, statistics: readonly TaskVectorStatistics[]): Compiled;
}
