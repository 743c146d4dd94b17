import type { RunCost } from '../../engine/run.js';
import type { FactorDtype } from '../../native/factorise.js';

/** A weight whose change became a low-rank pair. */
export interface ExtractedTensor {
  readonly name: string;
  /** Layer number, or null outside the layers. */
  readonly layer: number | null;
  readonly role: 'attention' | 'feedForward' | 'embedding' | 'head' | 'other';
  /** [out, in], as stored. */
  readonly shape: readonly [number, number];
  readonly rank: number;
  /** ‖Δ‖_F of the change Δ = W_expert − W_base. */
  readonly norm: number;
  /** ‖Δ − B·A‖_F / ‖Δ‖_F, of the factors as they are written. */
  readonly error: number;
  /** Share of ‖Δ‖²_F that B·A keeps: 1 − error². */
  readonly energy: number;
  /** The largest singular values of Δ, as many as the rank. */
  readonly singularValues: readonly number[];
}

/** A changed tensor that the adapter does not have. */
export interface LeftOutTensor {
  readonly name: string;
  /** ‖Δ‖_F */
  readonly norm: number;
}

/** An extraction: what of the expert's change the adapter has. The content of `extract-lora.json`. */
export interface Extraction {
  readonly base: string;
  readonly expert: string;
  /** The rank asked for, which smaller matrices do not reach. */
  readonly rank: number;
  /** The share of ‖Δ‖²_F that each rank was to keep; null without. */
  readonly energy: number | null;
  readonly dtype: FactorDtype | 'model';
  /** ‖Δ − B·A‖_F / ‖Δ‖_F over the extracted tensors. */
  readonly error: number;
  /** Share of the whole model's ‖Δ‖²_F that the adapter keeps, in low rank or whole. */
  readonly kept: number;
  /** Share of the whole model's ‖Δ‖²_F that is of left-out tensors. */
  readonly lost: number;
  readonly tensors: readonly ExtractedTensor[];
  /** Tensors that the adapter has whole (`modules_to_save`). */
  readonly saved: readonly string[];
  /** Tensors that the expert has not changed; the adapter leaves them out. */
  readonly unchanged: readonly string[];
  readonly leftOut: readonly LeftOutTensor[];
}

export interface ExtractionResult extends Extraction, RunCost {
  /** Absolute path of the output. */
  readonly out: string;
  /** Bytes of `adapter_model.safetensors`. */
  readonly bytes: number;
  readonly warnings: readonly string[];
}
