import type { ArithmeticDtype } from '../tensor/dtype.js';
import type { Location, NativeProgram } from './job.js';

// Regressions as the addon takes them; native/addon/decode_regress.cpp reads them.

/**
 * Matrices W [outputs, inputs] and for each the Gram matrix G [inputs, inputs] of its inputs, to be merged into
 * (Σ sWG̃)(Σ sG̃ + εI)⁻¹.
 */
export interface Regression {
  readonly matrices: NativeProgram;
  /** For each model, the value that is its W. */
  readonly values: readonly number[];
  readonly grams: NativeProgram;
  /** For each model, the value that is its G. */
  readonly of: readonly number[];
  /** s of each model, above 0; they sum up to 1. */
  readonly shares: readonly number[];
  /** Multiplies the elements of G off the diagonal. */
  readonly scaling: number;
  /** ε, as a share of the mean of the diagonal. */
  readonly ridge: number;
  readonly dtype: ArithmeticDtype;
  readonly to: Location;
}

/** Numbers that a regression finds, in the order of native/jobs/regress.hpp. */
export const regressionNumbers = ['column', 'diagonal', 'asymmetric'] as const;
