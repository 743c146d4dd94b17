import type { RunCost } from '../../engine/run.js';
import type { Dtype } from '../../tensor/dtype.js';
import type { VerifiedInput } from '../verification/verification.js';
import type { ProofSample } from './sample/plan-sample.js';

/**
 * - `intact`: every tensor has the expected numbers.
 * - `rounded`: every tensor is equal or within one rounding of its dtype.
 * - `different`: a tensor differs, is missing or additional, or `config.json` changes results.
 * - `not_comparable`: all comparable tensors are correct; the others are random.
 * - `not_this`: most tensors have nothing in common with the expected ones.
 */
export type ProofVerdict = 'intact' | 'rounded' | 'different' | 'not_comparable' | 'not_this';

/** How a tensor of an output differs from the expected one. */
export type ProvenState = 'equal' | 'rounding' | 'different' | 'missing' | 'additional' | 'not_comparable';

/** A tensor of an output, compared with the expected one. */
export interface ProvenTensor {
  readonly name: string;
  readonly layer: number | null;
  readonly state: ProvenState;
  /** Stored dtype; null if the tensor is missing. */
  readonly dtype: Dtype | null;
  readonly expectedDtype: Dtype | null;
  readonly elements: number;
  /** Elements that differ as numbers; null if not compared. */
  readonly differing: number | null;
  /** max |output − expected|; null if equal or not comparable. */
  readonly max: number | null;
  /** ‖output − expected‖/‖expected‖. */
  readonly relative: number | null;
  /** Why elements were not compared: another shape, or a dtype that is not numbers. */
  readonly reason?: string;
}

/** A kind of difference, and the tensors that it explains. */
export interface Fault {
  /** A stable code, such as `adapter_not_applied`; `unexplained` if nothing fits. */
  readonly kind: string;
  /** Tensors that the fault explains; empty for `config_differs`. */
  readonly tensors: readonly string[];
  readonly figures: Readonly<Record<string, number | string>>;
  readonly sentence: string;
}

/** The result of comparing a merge with its recipe, tensor by tensor. */
export interface MergeProof extends RunCost {
  readonly out: string;
  /** The file of the recipe, or the model, as the user gave it. */
  readonly against: string;
  readonly method: string;
  readonly inputs: readonly VerifiedInput[];
  /**
   * Set if only a sample was compared: the drawn tiles, to which alone the verdict applies. Otherwise null.
   */
  readonly sample: ProofSample | null;
  readonly verdict: ProofVerdict;
  /** True only for `intact`. */
  readonly intact: boolean;
  /** Tensors in the order of the expected merge, then additional ones. */
  readonly tensors: readonly ProvenTensor[];
  /** The fault that explains most tensors; null if nothing differs. */
  readonly fault: Fault | null;
  readonly faults: readonly Fault[];
  readonly warnings: readonly string[];
}
