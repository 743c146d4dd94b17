import type { ArithmeticDtype } from '../tensor/dtype.js';
import type { Location, NativeProgram } from './job.js';

// Factorisations as the addon takes them, decoded by native/addon/decode_factorise.cpp.

/** Dtypes for factors. */
export const factorDtypes = ['BF16', 'F16', 'F32'] as const satisfies readonly ArithmeticDtype[];
export type FactorDtype = (typeof factorDtypes)[number];

/**
 * Approximates a program's value, a matrix Δ, by left [rows, rank] · right [rank, columns]. Uses a truncated
 * singular value decomposition by a randomised range finder, with √σ in both factors.
 */
export interface Factorisation {
  readonly program: NativeProgram;
  readonly value: number;
  /** Upper limit, from 1 to the smaller extent. */
  readonly rank: number;
  /** Uses the smallest rank that keeps this share of ‖Δ‖²_F, if one up to `rank` does; 1: uses `rank`. */
  readonly share: number;
  /** 64-bit key of the random numbers. */
  readonly key: bigint;
  /** True to write both factors transposed. */
  readonly transposed: boolean;
  readonly dtype: FactorDtype;
  /** Space for `rank`; with a smaller rank, only its beginning is used. */
  readonly left: Location;
  readonly right: Location;
}

/**
 * Numbers that a factorisation returns before the singular values, in the order of native/jobs/factorise.hpp.
 */
export const factorNumbers = ['rank', 'squares', 'error', 'nonFinite'] as const;
