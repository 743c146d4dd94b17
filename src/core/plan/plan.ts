import type { Computation } from '../methods/operations/formula.js';
import type { Copy } from '../methods/operations/rows/copy.js';
import type { Same } from '../methods/operations/rows/same.js';
import type { Origin } from '../models/address/found-model.js';
import type { AdaptedFrom, FileIdentity } from '../models/checkpoint/checkpoint.js';
import type { Dtype } from '../tensor/dtype.js';
import type { Shape } from '../tensor/reference.js';
import type { operandKind, StoredTensor } from '../tensor/stored-tensor.js';
import type { CompleteRecipe } from './complete-recipe.js';
import type { AveragedTensor } from './operands/averaged.js';
import type { BlockTensor } from './operands/blocks.js';
import type { ColumnTensor } from './operands/columns.js';
import type { DoraTensor } from './operands/dora.js';
import type { GatheredTensor } from './operands/gathered.js';
import type { LowRankTensor } from './operands/low-rank.js';
import type { PursuedTensor } from './operands/pursued.js';
import type { QuantisedTensor } from './operands/quantised.js';

export type { StoredTensor };

/**
 * Computed by a nested recipe. Rounded to its dtype before use, so that merging in two steps gives the same
 * bits.
 */
export interface ComputedTensor {
  readonly [operandKind]: 'computed';
  readonly dtype: Dtype;
  readonly expression: PlannedExpression;
}

/** An operand of a plan's formula (a file for each kind in operands/). */
export type Operand =
  | StoredTensor
  | ComputedTensor
  | GatheredTensor
  | ColumnTensor
  | LowRankTensor
  | DoraTensor
  | PursuedTensor
  | AveragedTensor
  | QuantisedTensor
  | BlockTensor;

/** An output tensor as an expression over byte ranges: copied or computed. */
export type PlannedExpression = Copy<StoredTensor> | Same<StoredTensor> | Computation<Operand>;

/** A tensor of the output. */
export interface PlannedTensor {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: Shape;
  /** Byte offsets in the shard's file. */
  readonly begin: number;
  readonly end: number;
  /** Null outside the layers. */
  readonly layer: number | null;
  readonly expression: PlannedExpression;
  /** The file's tensor that this is a part of; parts are contiguous. */
  readonly part?: { readonly name: string; readonly shape: Shape } | undefined;
}

/** A file of the output. */
export interface PlannedShard {
  readonly file: string;
  readonly bytes: number;
  /** The input file that this shard is, header included; the shard may be a link to it. */
  readonly verbatim?: { readonly input: number; readonly file: number };
  /** In file order. */
  readonly tensors: readonly PlannedTensor[];
}

/** A model that a plan reads. */
export interface PlannedInput extends Origin {
  /** `task`, `language`, `model`, `base`. */
  readonly role: string;
  readonly name: string;
  readonly path: string;
  /** For a base with an adapter; `path` joins both paths with a plus. */
  readonly adapted?: Pick<AdaptedFrom, 'base' | 'adapter' | 'config'>;
  readonly files: readonly FileIdentity[];
}

/** A file beside the weights: its text, or an absolute path to copy. */
export type PlannedFile =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly copyOf: string };

/** The cost of a merge, read from its plan. */
export interface Cost {
  /** Input bytes. Headers count only for shards that are unchanged input files. */
  readonly bytesToRead: number;
  /**
   * Further input bytes to measure whole tensors (Gram matrices, thresholds, norms), one pass each, mostly
   * from the page cache. Finding a threshold may take another pass.
   */
  readonly bytesToMeasure: number;
  readonly bytesToWrite: number;
  /** Tensor bytes of the output that are copied or computed. */
  readonly bytesCopied: number;
  readonly bytesComputed: number;
  /** Bytes of shards that are input files unchanged, which `--link hard` and `symbolic` do not write. */
  readonly bytesVerbatim: number;
  readonly parameters: number;
}

/** Weights of hub models that a plan reads and that are not on this machine. */
export interface PlannedDownload {
  readonly bytes: number;
  /** Incomplete models, in the order of the plan's inputs. */
  readonly models: readonly {
    /** `org/name@COMMIT`. */
    readonly model: string;
    readonly bytes: number;
    /** Bytes of all its weight files. */
    readonly of: number;
  }[];
}

/**
 * A merge in plain JSON: every output byte range and its source. The engine executes it; `--dry-run`, cost,
 * resuming and provenance read it.
 */
export interface MergePlan {
  /** The version that made the plan. */
  readonly layerloom: string;
  readonly method: string;
  readonly title: string;
  /** Present for a LoRA adapter: one file and `adapter_config.json`. */
  readonly form?: 'adapter';
  /** Present if NaN and infinity are computed with, not refused. */
  readonly allowNonFinite?: true;
  /** The method's parameters as used. */
  readonly recipe: Readonly<Record<string, unknown>>;
  /**
   * The whole recipe in YAML's spelling, which reproduces the same bytes: models (`./NAME`,
   * `org/name@COMMIT`), nested recipes, layout, and values found in the models.
   */
  readonly completeRecipe: CompleteRecipe;
  readonly architecture: { readonly family: string; readonly naming: string; readonly layers: number };
  /** The merged models in the order of terms, then companions. */
  readonly inputs: readonly PlannedInput[];
  readonly shards: readonly PlannedShard[];
  readonly files: readonly PlannedFile[];
  readonly cost: Cost;
  /** Weights missing when the plan was made. */
  readonly download?: PlannedDownload;
  readonly warnings: readonly string[];
}

/** Returns the input file that a shard is, if any. */
export const verbatimPath = (
  { verbatim }: PlannedShard,
  inputs: readonly PlannedInput[],
): string | undefined =>
  verbatim === undefined ? undefined : inputs[verbatim.input]?.files[verbatim.file]?.path;
