import type { RunCost } from '../../engine/run.js';
import type { FactorDtype } from '../../native/solve.js';

/** A weight whose change became a low-rank pair. */
export interface ExtractedTensor {
  readonly name: string;
  readonly layer: number | null;
  readonly role: 'attention' | 'feedForward' | 'embedding' | 'head' | 'other';
  /** [out, in], as stored. */
  readonly shape: readonly [number, number];
  readonly rank: number;
  /** ‖Δ‖_F of Δ = W_expert − W_base. */
  readonly norm: number;
  readonly error: number;
  /** Share of ‖Δ‖²_F that B·A keeps: 1 − error². */
  readonly energy: number;
  readonly singularValues: readonly number[];
}

/** A changed tensor that the adapter lacks. */
export interface LeftOutTensor {
  readonly name: string;
  /** ‖Δ‖_F */
  readonly norm: number;
}

/** The content of `extract-lora.json`: how much of an expert's change an adapter has. */
export interface Extraction {
  readonly base: string;
  readonly expert: string;
  /** The requested rank; small matrices have less. */
  readonly rank: number;
  /** The requested share of ‖Δ‖²_F, or null. */
  readonly energy: number | null;
  readonly dtype: FactorDtype | 'model';
  /** ‖Δ − B·A‖_F / ‖Δ‖_F over the extracted tensors. */
  readonly error: number;
  /** Share of the model's ‖Δ‖²_F in the adapter's factors or tensors saved whole. */
  readonly kept: number;
  /** Share of the model's ‖Δ‖²_F in tensors that were left out. */
  readonly lost: number;
  readonly tensors: readonly ExtractedTensor[];
  /** Tensors saved whole (`modules_to_save`). */
  readonly saved: readonly string[];
  /** Tensors that the expert did not change, so the adapter lacks them. */
  readonly unchanged: readonly string[];
  readonly leftOut: readonly LeftOutTensor[];
}

export interface ExtractionResult extends Extraction, RunCost {
  readonly out: string;
  /** Bytes of `adapter_model.safetensors`. */
  readonly bytes: number;
  readonly warnings: readonly string[];
}
