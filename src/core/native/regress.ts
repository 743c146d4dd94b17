import type { ArithmeticDtype } from '../tensor/dtype.js';
import type { Location, NativeProgram } from './job.js';

// Regressions, decoded by native/addon/decode_regress.cpp.

/** Merges matrices as in native/jobs/regress.hpp. */
export interface Regression {
  readonly matrices: NativeProgram;
  /** The value that is W, for each model. */
  readonly values: readonly number[];
  readonly grams: NativeProgram;
  /** The value that is G, for each model. */
  readonly of: readonly number[];
  /** s for each model, above 0; their sum is 1. */
  readonly shares: readonly number[];
  /** Factor of G's off-diagonal elements. */
  readonly scaling: number;
  /** ε, as a share of the mean of the diagonal. */
  readonly ridge: number;
  readonly dtype: ArithmeticDtype;
  readonly to: Location;
}

/** Results, in the order of native/jobs/regress.hpp. */
export const regressionNumbers = ['column', 'diagonal', 'asymmetric'] as const;
