import type { TensorChange, TensorReference } from '../../../tensor/reference.js';

/** Which rows a tensor is of the products of several experts, whose factors stand in one pair of matrices. */
export interface ExpertRows {
  /** The number of experts: `a` is [experts · rank, in], `b` [out, rank · experts], the experts of a rank side by side. */
  readonly count: number;
  /** The tensor's first row, of the rows of all products one below the other. */
  readonly row: number;
}

/** The factors of one parameter, among the files of a base with its adapter. */
export interface PlacedFactors {
  /** [rank, in] */
  readonly a: TensorReference;
  /** [out, rank] */
  readonly b: TensorReference;
  /** The tensor that the kind has beside them (`AdapterKind.beside`). */
  readonly beside?: TensorReference | undefined;
  readonly rank: number;
  /** s: alpha / rank, or alpha / √rank (rsLoRA). */
  readonly scale: number;
  /** The parameter is stored as [in, out], as embeddings and `fan_in_fan_out` layers are: the product is (B · A)ᵀ. */
  readonly transposed: boolean;
  /** Where the factors are those of several experts; without, of one matrix. */
  readonly experts?: ExpertRows | undefined;
}

/** What is known of one kind of adapters. What it makes of a tensor is an operand: `src/core/plan/adapted.ts` lists these by change. */
export interface AdapterKind<C extends TensorChange = TensorChange> {
  /** The key of `adapter_config.json` that is true for adapters of this kind; without, it is plain LoRA. */
  readonly key?: string;
  /** The last part of the names of the tensors that modules have beside their factors, one number for each output. */
  readonly beside?: string;
  /** Why a sum of such adapters is none, for errors; without, a sum of their changes is a change. */
  readonly noSum?: string;
  /** Returns the change of the base's tensor. */
  change(factors: PlacedFactors): C;
}
