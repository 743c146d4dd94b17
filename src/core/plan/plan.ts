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
import type { FactoredTensor } from './operands/factored.js';
import type { GatheredTensor } from './operands/gathered.js';
import type { LowRankTensor } from './operands/low-rank.js';
import type { MultipliedTensor } from './operands/multiplied.js';
import type { TensorInPieces } from './operands/pieces.js';
import type { PursuedTensor } from './operands/pursued.js';
import type { QuantisedTensor } from './operands/quantised.js';

export type { StoredTensor };

/** A nested recipe's result, rounded to its dtype, so that merging in two steps gives the same bits. */
export interface ComputedTensor {
  readonly [operandKind]: 'computed';
  readonly dtype: Dtype;
  readonly expression: PlannedExpression;
}

/** All operands; operands/ has a file per kind. */
export type Operand =
  | StoredTensor
  | ComputedTensor
  | GatheredTensor
  | ColumnTensor
  | LowRankTensor
  | FactoredTensor
  | MultipliedTensor
  | DoraTensor
  | PursuedTensor
  | AveragedTensor
  | QuantisedTensor
  | BlockTensor
  | TensorInPieces;

/** A copy, or a computation over byte ranges. */
export type PlannedExpression = Copy<StoredTensor> | Same<StoredTensor> | Computation<Operand>;

/** A tensor of the output. */
export interface PlannedTensor {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: Shape;
  /** Offsets in the shard's file. */
  readonly begin: number;
  readonly end: number;
  readonly layer: number | null;
  readonly expression: PlannedExpression;
  /** The whole tensor, if this is a part of it. Parts are contiguous. */
  readonly part?: { readonly name: string; readonly shape: Shape } | undefined;
}

/** A file of the output. */
export interface PlannedShard {
  readonly file: string;
  readonly bytes: number;
  /** The input file whose bytes this shard repeats, header included; the engine may link to it. */
  readonly verbatim?: { readonly input: number; readonly file: number };
  readonly tensors: readonly PlannedTensor[];
}

/** A model that a plan reads. */
export interface PlannedInput extends Origin {
  readonly role: string;
  readonly name: string;
  readonly path: string;
  /** The two models in `BASE+ADAPTER`; `path` joins their paths by a plus. */
  readonly adapted?: Pick<AdaptedFrom, 'base' | 'adapter' | 'config'>;
  readonly files: readonly FileIdentity[];
}

/** A file beside the weights: its text, or the path of a file to copy. */
export type PlannedFile =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly copyOf: string };

/** Costs computed from the plan. */
export interface Cost {
  /** Input bytes; headers count only for shards that are unchanged input files. */
  readonly bytesToRead: number;
  /** Input bytes read again to measure statistics, mostly from the page cache. */
  readonly bytesToMeasure: number;
  readonly bytesToWrite: number;
  readonly bytesCopied: number;
  readonly bytesComputed: number;
  /** Bytes of shards that are unchanged input files; `--link hard` and `symbolic` do not write them. */
  readonly bytesVerbatim: number;
  readonly parameters: number;
}

/** Weights of hub models that a plan needs and this machine lacks. */
export interface PlannedDownload {
  readonly bytes: number;
  readonly models: readonly {
    /** `org/name@COMMIT`. */
    readonly model: string;
    readonly bytes: number;
    /** Bytes of all weight files of the model. */
    readonly of: number;
  }[];
}

/** A merge in plain JSON: the source of every output byte, for the engine to execute. */
export interface MergePlan {
  readonly layerloom: string;
  readonly method: string;
  readonly title: string;
  /** For a LoRA adapter: one file and `adapter_config.json`. */
  readonly form?: 'adapter';
  /** Allow NaN and infinity. */
  readonly allowNonFinite?: true;
  readonly recipe: Readonly<Record<string, unknown>>;
  /** The recipe that reproduces the output, with keys as in YAML; hub models are `org/name@COMMIT`. */
  readonly completeRecipe: CompleteRecipe;
  readonly architecture: { readonly family: string; readonly naming: string; readonly layers: number };
  /** Merged models in the order of terms, then companions. */
  readonly inputs: readonly PlannedInput[];
  readonly shards: readonly PlannedShard[];
  readonly files: readonly PlannedFile[];
  readonly cost: Cost;
  /** Weights missing when the plan was made. */
  readonly download?: PlannedDownload;
  readonly warnings: readonly string[];
}

/** Returns the input file that the shard equals, if any. */
export const verbatimPath = (
  { verbatim }: PlannedShard,
  inputs: readonly PlannedInput[],
): string | undefined =>
  verbatim === undefined ? undefined : inputs[verbatim.input]?.files[verbatim.file]?.path;
