import type { FileIdentity } from '../checkpoint/checkpoint.js';
import type { Dtype } from '../tensor/dtype.js';
import type { Shape } from '../tensor/reference.js';
import type { Rows } from '../tensor/rows.js';

/** A tensor's bytes in an input: `inputs[input].files[file]` from `begin` to `end`. */
export interface Source {
  readonly input: number;
  readonly file: number;
  readonly begin: number;
  readonly end: number;
  readonly dtype: Dtype;
}

/** What one output tensor is, down to byte ranges. */
export type PlannedExpression =
  | { readonly kind: 'copy'; readonly source: Source }
  /** Integers that would be averaged: the first source's bytes, once all are found equal. */
  | { readonly kind: 'same'; readonly sources: readonly Source[] }
  /**
   * Rows of a matrix: `kept` says by a bit for each row (lowest first, in base64) which are the source's; the others are the base's.
   */
  | {
      readonly kind: 'rowSelect';
      readonly source: Source;
      readonly base: Source;
      readonly rows: Rows;
      readonly kept: string;
    }
  /** Weights are normalised. */
  | {
      readonly kind: 'linear';
      readonly terms: readonly { readonly source: Source; readonly weight: number }[];
    };

export interface PlannedTensor {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: Shape;
  /** In its shard, from the start of the file. */
  readonly begin: number;
  readonly end: number;
  /** Layer number, or null outside the layers. */
  readonly layer: number | null;
  readonly expression: PlannedExpression;
}

export interface PlannedShard {
  readonly file: string;
  readonly bytes: number;
  /**
   * The input file whose tensors are this shard's, all of them and no others: the shard is that file, header and all, and may be a link to
   * it.
   */
  readonly verbatim?: { readonly input: number; readonly file: number };
  /** In the order of the file. */
  readonly tensors: readonly PlannedTensor[];
}

export interface PlannedInput {
  /** `task`, `language`, `model`, `base`. */
  readonly role: string;
  readonly name: string;
  readonly path: string;
  readonly files: readonly FileIdentity[];
}

/** A file beside the weights: written as it stands here, or copied from an absolute path. */
export type PlannedFile =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly copyOf: string };

export interface Cost {
  /** Of inputs; headers aside, but for shards that are input files as they stand. */
  readonly bytesToRead: number;
  /** Of shards. */
  readonly bytesToWrite: number;
  /** Tensor bytes of the output that are copied, and that are computed. */
  readonly bytesCopied: number;
  readonly bytesComputed: number;
  /** Of shards that are input files as they stand: what `--link hard` and `symbolic` do not write. */
  readonly bytesVerbatim: number;
  readonly parameters: number;
}

/**
 * A merge, decided: every output byte range and where it comes from. Plain JSON: what the engine carries out, and what
 * `--dry-run`, cost, resuming and provenance are read from.
 */
export interface MergePlan {
  /** The version of layerloom that made the plan. */
  readonly layerloom: string;
  readonly method: string;
  readonly title: string;
  /** The method's parameters as used, in the recipe's spelling. */
  readonly recipe: Readonly<Record<string, unknown>>;
  readonly architecture: { readonly family: string; readonly naming: string; readonly layers: number };
  /** The merged models in the order of terms, then companions. */
  readonly inputs: readonly PlannedInput[];
  readonly shards: readonly PlannedShard[];
  readonly files: readonly PlannedFile[];
  readonly cost: Cost;
  readonly warnings: readonly string[];
}

/** The sources of an expression, in order. */
export const sourcesOf = (expression: PlannedExpression): readonly Source[] => {
  switch (expression.kind) {
    case 'copy':
      return [expression.source];
    case 'same':
      return expression.sources;
    case 'rowSelect':
      return [expression.source, expression.base];
    case 'linear':
      return expression.terms.map(({ source }) => source);
  }
};
