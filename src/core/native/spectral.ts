import type { ArithmeticDtype } from '../tensor/dtype.js';
import type { Location, NativeProgram } from './job.js';

// Merges by singular values as the addon takes them; native/addon/decode_spectral.cpp reads them.

/** Matrices of one shape and their base, to be merged by singular values of their changes. */
export interface Spectral {
  /** What is done with the changes of the matrices. */
  readonly rule: 'iso_c' | 'tsv_m';
  readonly program: NativeProgram;
  /** The value that is the base. */
  readonly base: number;
  /** The values that are the models' matrices. */
  readonly sources: readonly number[];
  /** Multiplies what is added to the base. */
  readonly scale: number;
  readonly dtype: ArithmeticDtype;
  readonly to: Location;
}
