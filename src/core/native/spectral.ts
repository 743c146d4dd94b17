import type { ArithmeticDtype } from '../tensor/dtype.js';
import type { Location, NativeProgram } from './job.js';

// Merges by singular values, decoded by native/addon/decode_spectral.cpp.

/** Merges matrices of one shape by the singular values of their changes from a base. */
export interface Spectral {
  readonly rule: 'iso_c' | 'tsv_m';
  readonly program: NativeProgram;
  readonly base: number;
  readonly sources: readonly number[];
  /** Factor of what is added to the base. */
  readonly scale: number;
  readonly dtype: ArithmeticDtype;
  readonly to: Location;
}
