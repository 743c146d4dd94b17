import type { ArithmeticDtype } from '../tensor/dtype.js';
import type { Location, NativeProgram } from './job.js';

// Factorisations as the addon takes them; native/addon/decode_factorise.cpp reads them.

/** Dtypes that factors are written in. */
export const factorDtypes = ['BF16', 'F16', 'F32'] as const satisfies readonly ArithmeticDtype[];
export type FactorDtype = (typeof factorDtypes)[number];

/**
 * A value of a program over a whole matrix Δ, to be approximated by left · right: its truncated singular value
 * decomposition by a randomised range finder, √σ on both sides. left is [rows, rank], right [rank, columns].
 */
export interface Factorisation {
  readonly program: NativeProgram;
  readonly value: number;
  /** At most so much; 1 to the smaller extent. */
  readonly rank: number;
  /** The smallest rank that keeps this share of ‖Δ‖²_F, if one up to `rank` does; 1: `rank`. */
  readonly share: number;
  /** 64 bits that select the random numbers. */
  readonly key: bigint;
  /** Both factors are written transposed. */
  readonly transposed: boolean;
  readonly dtype: FactorDtype;
  /** Room for `rank`; with a smaller one, numbers stand at its beginning. */
  readonly left: Location;
  readonly right: Location;
}

/** The numbers that a factorisation finds before the singular values, in the order of native/jobs/factorise.hpp. */
export const factorNumbers = ['rank', 'squares', 'error', 'nonFinite'] as const;
