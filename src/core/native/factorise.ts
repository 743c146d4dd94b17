import type { ArithmeticDtype } from '../tensor/dtype.js';
import type { Location, NativeProgram } from './job.js';

// Factorisations, decoded by native/addon/decode_factorise.cpp.

export const factorDtypes = ['BF16', 'F16', 'F32'] as const satisfies readonly ArithmeticDtype[];
export type FactorDtype = (typeof factorDtypes)[number];

/** Approximates a program's value by two factors (native/jobs/factorise.hpp). */
export interface Factorisation {
  readonly program: NativeProgram;
  readonly value: number;
  /** Upper limit, from 1 to the smaller extent. */
  readonly rank: number;
  readonly share: number;
  readonly key: bigint;
  readonly transposed: boolean;
  readonly dtype: FactorDtype;
  /** Space for `rank`; a smaller rank uses only its beginning. */
  readonly left: Location;
  readonly right: Location;
}

/** Results before the singular values, in the order of native/jobs/factorise.hpp. */
export const factorNumbers = ['rank', 'squares', 'error', 'nonFinite'] as const;
