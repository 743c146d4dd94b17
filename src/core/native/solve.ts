import type { ArithmeticDtype } from '../tensor/dtype.js';
import type { Location, NativeProgram } from './job.js';

// Computations over whole matrices, decoded by native/addon/decode_solve.cpp.

export const factorDtypes = ['BF16', 'F16', 'F32'] as const satisfies readonly ArithmeticDtype[];
export type FactorDtype = (typeof factorDtypes)[number];

export const mostChosen = 4096;

/** A solver. It has `sizeOfSolution` float64 results; structs are in native/jobs/solve.hpp. */
export type Solver =
  | {
      readonly kind: 'factorise';
      readonly program: NativeProgram;
      readonly value: number;
      /** Maximum rank, up to the matrix's smaller dimension. */
      readonly rank: number;
      readonly share: number;
      readonly key: bigint;
      readonly transposed: boolean;
      readonly dtype: FactorDtype;
      /** Space for factors of `rank`; factors of a smaller rank fill only its beginning. */
      readonly left: Location;
      readonly right: Location;
    }
  /** Merges by regression (RegMean), with Gram matrices of the inputs. */
  | {
      readonly kind: 'regress';
      readonly matrices: NativeProgram;
      readonly values: readonly number[];
      readonly grams: NativeProgram;
      /** Each model's Gram matrix G, as a value of `grams`. */
      readonly of: readonly number[];
      /** Weight s of each model, above 0; their sum is 1. */
      readonly shares: readonly number[];
      /** Factor for the off-diagonal elements of G. */
      readonly scaling: number;
      /** ε, as a share of the mean of the diagonal. */
      readonly ridge: number;
      readonly dtype: ArithmeticDtype;
      readonly to: Location;
    }
  /** Merges matrices of equal shape by the singular values of their changes from a base. */
  | {
      readonly kind: 'mergeSpectra';
      readonly rule: 'iso_c' | 'tsv_m';
      readonly program: NativeProgram;
      readonly base: number;
      readonly sources: readonly number[];
      /** Factor for the merged change. */
      readonly scale: number;
      readonly dtype: ArithmeticDtype;
      readonly to: Location;
    }
  /** Approximates rows by sums of a few rows of another matrix. */
  | {
      readonly kind: 'pursue';
      /** Rows that the sums may use: a program of a single source. */
      readonly atoms: NativeProgram;
      /** Rows to approximate, as long as the atoms: a program of a single source. */
      readonly targets: NativeProgram;
      /** Maximum number of rows in a sum; at most `mostChosen` and the number of atoms. */
      readonly k: number;
    };

/** A solution's first numbers, in the order of the enumerations in native/jobs. */
export const solutionNumbers = {
  /** Followed by singular values, as many as `rank`. */
  factorise: ['rank', 'squares', 'error', 'nonFinite'],
  regress: ['column', 'diagonal', 'asymmetric'],
  mergeSpectra: [],
  /**
   * Numbers of each target, followed by `k` indexes of atoms in the order chosen, and their `k` coefficients.
   */
  pursue: ['chosen', 'squares', 'error'],
} as const satisfies { readonly [K in Solver['kind']]: readonly string[] };

export const sizeOfSolution = (solver: Solver): number => {
  const { length } = solutionNumbers[solver.kind];
  if (solver.kind === 'factorise') return length + solver.rank;
  if (solver.kind !== 'pursue') return length;
  return (solver.targets.count / solver.targets.columns) * (length + 2 * solver.k);
};
