import type { ArithmeticDtype } from '../tensor/dtype.js';
import type { Location, NativeProgram } from './job.js';

// Factorisations, decoded by native/addon/decode_factorise.cpp.

export const factorDtypes = ['BF16', 'F16', 'F32'] as const satisfies readonly ArithmeticDtype[];
export type FactorDtype = (typeof factorDtypes)[number];

/**
 * Approximates a program's value, a matrix Δ, by left [rows, rank] · right [rank, columns]: its truncated
 * singular value decomposition with √σ in both factors, by a randomised range finder.
 */
export interface Factorisation {
  readonly program: NativeProgram;
  readonly value: number;
  /** Upper limit, from 1 to the smaller extent. */
  readonly rank: number;
  /** Uses the smallest rank that keeps this share of ‖Δ‖²_F, up to `rank`; 1: uses `rank`. */
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
