import type { Copy } from '../methods/operations/copy.js';
import type { Computation } from '../methods/operations/formula.js';
import type { Same } from '../methods/operations/same.js';
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
 * A tensor that a recipe in the recipe makes: rounded to its dtype before it is used, so that two steps would
 * give the same bits.
 */
export interface ComputedTensor {
  readonly [operandKind]: 'computed';
  readonly dtype: Dtype;
  readonly expression: PlannedExpression;
}

/** An operand of a formula in a plan (a file a kind in operands/). */
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

/** One output tensor down to byte ranges: moved as they are, or computed. */
export type PlannedExpression = Copy<StoredTensor> | Same<StoredTensor> | Computation<Operand>;

/** A tensor of the output: its place in its shard, and its expression. */
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
  /** The tensor of the file that it is a part of, where it is none by itself: its parts stand one behind the other. */
  readonly part?: { readonly name: string; readonly shape: Shape } | undefined;
}

/** A file of the output. */
export interface PlannedShard {
  readonly file: string;
  readonly bytes: number;
  /**
   * The input file whose tensors are this shard's, all of them and no others: the shard is that file, header
   * and all, and may be a link to it.
   */
  readonly verbatim?: { readonly input: number; readonly file: number };
  /** In the order of the file. */
  readonly tensors: readonly PlannedTensor[];
}

/** A model that a plan reads. */
export interface PlannedInput extends Origin {
  /** `task`, `language`, `model`, `base`. */
  readonly role: string;
  readonly name: string;
  readonly path: string;
  /** Where it is a base with an adapter; `path` is then those of both, with a plus between them. */
  readonly adapted?: Pick<AdaptedFrom, 'base' | 'adapter' | 'config'>;
  readonly files: readonly FileIdentity[];
}

/** A file beside the weights: written as it stands here, or copied from an absolute path. */
export type PlannedFile =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly copyOf: string };

/** Cost of a merge, from its plan: bytes of tensor data, and parameters. */
export interface Cost {
  /** Bytes of inputs; headers aside, except of shards that are input files as they stand. */
  readonly bytesToRead: number;
  /**
   * Bytes of inputs read before that for statistics of whole tensors (Gram matrices, thresholds, norms), one
   * pass for each. Mostly from the page cache, since a tensor is measured and then computed; finding a
   * threshold may take another pass.
   */
  readonly bytesToMeasure: number;
  /** Bytes of shards. */
  readonly bytesToWrite: number;
  /** Tensor bytes of the output that are copied, and that are computed. */
  readonly bytesCopied: number;
  readonly bytesComputed: number;
  /** Bytes of shards that are input files as they stand, which `--link hard` and `symbolic` do not write. */
  readonly bytesVerbatim: number;
  readonly parameters: number;
}

/** Weights of models of the hub that a plan reads and that are not on this machine. */
export interface PlannedDownload {
  readonly bytes: number;
  /** Models of which something is missing, in the order of the plan's inputs. */
  readonly models: readonly {
    /** `org/name@COMMIT`. */
    readonly model: string;
    readonly bytes: number;
    /** Bytes of all its files of weights. */
    readonly of: number;
  }[];
}

/**
 * A merge, decided: every output byte range and where it comes from. Plain JSON: what the engine carries out,
 * and what `--dry-run`, cost, resuming and provenance are read from.
 */
export interface MergePlan {
  /** The version of layerloom that made the plan. */
  readonly layerloom: string;
  readonly method: string;
  readonly title: string;
  /** Where the output is a LoRA adapter: one file and `adapter_config.json`, in the place of shards and `config.json`. */
  readonly form?: 'adapter';
  /** Present where values that are no finite numbers are computed with, instead of refused. */
  readonly allowNonFinite?: true;
  /** The method's parameters as used, in the recipe's spelling. */
  readonly recipe: Readonly<Record<string, unknown>>;
  /**
   * The whole recipe, which makes the same bytes again: with models (`./NAME`, `org/name@COMMIT`), nested
   * recipes, layout, and what was found from the models. In YAML's spelling.
   */
  readonly completeRecipe: CompleteRecipe;
  readonly architecture: { readonly family: string; readonly naming: string; readonly layers: number };
  /** The merged models in the order of terms, then companions. */
  readonly inputs: readonly PlannedInput[];
  readonly shards: readonly PlannedShard[];
  readonly files: readonly PlannedFile[];
  readonly cost: Cost;
  /** Weights to fetch from the hub before the plan can be carried out, as of when it was made. */
  readonly download?: PlannedDownload;
  readonly warnings: readonly string[];
}

/** The path of the input file that a shard is, where it is one. */
export const verbatimPath = (
  { verbatim }: PlannedShard,
  inputs: readonly PlannedInput[],
): string | undefined =>
  verbatim === undefined ? undefined : inputs[verbatim.input]?.files[verbatim.file]?.path;
