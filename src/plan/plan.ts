import type { FileIdentity } from '../checkpoint/checkpoint.js';
import { type Formula, operandsOf } from '../operations/expression.js';
import type { Dtype } from '../tensor/dtype.js';
import type { Shape } from '../tensor/reference.js';

/** A tensor's bytes in an input: `inputs[input].files[file]` from `begin` to `end`. */
export interface StoredTensor {
  readonly input: number;
  readonly file: number;
  readonly begin: number;
  readonly end: number;
  readonly dtype: Dtype;
}

/** A tensor that a recipe in the recipe makes: rounded to its dtype before it is used, so that two steps would give the same bits. */
export interface ComputedTensor {
  readonly dtype: Dtype;
  readonly expression: PlannedExpression;
}

/** What a formula is over. */
export type Operand = StoredTensor | ComputedTensor;

export const isSource = (operand: Operand): operand is StoredTensor => 'input' in operand;

/** What one output tensor is, down to byte ranges. */
export type PlannedExpression =
  | { readonly kind: 'copy'; readonly source: StoredTensor }
  /** Integers that would be averaged: the first source's bytes, once all are found equal. */
  | { readonly kind: 'same'; readonly sources: readonly StoredTensor[] }
  /** Weights of `linear` are normalised. */
  | Formula<Operand>;

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
  /**
   * Of inputs, before that: what statistics of whole tensors take (Gram matrices, thresholds, norms), one pass for each. Mostly from the
   * page cache, since a tensor is measured and then computed; finding a threshold may take another pass.
   */
  readonly bytesToMeasure: number;
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

/** The path of the input file that a shard is, where it is one. */
export const verbatimPath = (
  { verbatim }: PlannedShard,
  inputs: readonly PlannedInput[],
): string | undefined =>
  verbatim === undefined ? undefined : inputs[verbatim.input]?.files[verbatim.file]?.path;

/** The byte ranges that an expression reads, in order; those that it reads twice stand twice. */
export const sourcesOf = (expression: PlannedExpression): readonly StoredTensor[] => {
  if (expression.kind === 'copy') return [expression.source];
  if (expression.kind === 'same') return expression.sources;
  return operandsOf(expression).flatMap(sourcesOfOperand);
};

export const sourcesOfOperand = (operand: Operand): readonly StoredTensor[] =>
  isSource(operand) ? [operand] : sourcesOf(operand.expression);

/** What tells a byte range from others. */
export const sourceId = ({ input, file, begin, end }: StoredTensor): string =>
  `${input} ${file} ${begin} ${end}`;

/** Byte ranges, each once. */
export const distinctSources = (sources: readonly StoredTensor[]): readonly StoredTensor[] => [
  ...new Map(sources.map((source) => [sourceId(source), source])).values(),
];

export const bytesOfSources = (sources: readonly StoredTensor[]): number =>
  sources.reduce((total, { begin, end }) => total + end - begin, 0);

/** Whether the bytes are moved as they are, whatever their dtype; all else is computed. */
export const movesBytes = (expression: PlannedExpression): boolean =>
  expression.kind === 'copy' ||
  expression.kind === 'same' ||
  (expression.kind === 'rowSelect' && isSource(expression.source) && isSource(expression.base));
