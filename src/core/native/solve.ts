import type { ArithmeticDtype } from '../tensor/dtype.js';
import type { Location, NativeProgram } from './job.js';

// Computations over whole matrices, decoded by native/addon/decode_solve.cpp.

export const factorDtypes = ['BF16', 'F16', 'F32'] as const satisfies readonly ArithmeticDtype[];
export type FactorDtype = (typeof factorDtypes)[number];

export const mostChosen = 4096;

/** Solvers, with structs in native/jobs/solve.hpp and `sizeOfSolution` float64 results. */
export type Solver =
  | {
      readonly kind: 'factorise';
      readonly program: NativeProgram;
      readonly value: number;
      /** Rank, from 1 to the matrix's smaller extent. */
      readonly rank: number;
      readonly share: number;
      readonly key: bigint;
      readonly transposed: boolean;
      readonly dtype: FactorDtype;
      /** Space for factors of `rank`; a smaller rank uses only the beginning. */
      readonly left: Location;
      readonly right: Location;
    }
  /** Merges matrices with Gram matrices of their inputs. */
  | {
      readonly kind: 'regress';
      readonly matrices: NativeProgram;
      readonly values: readonly number[];
      readonly grams: NativeProgram;
      /** Each model's value G. */
      readonly of: readonly number[];
      /** Each model's weight s, above 0; the sum is 1. */
      readonly shares: readonly number[];
      /** Factor of G's off-diagonal elements. */
      readonly scaling: number;
      /** ε as a share of the diagonal's mean. */
      readonly ridge: number;
      readonly dtype: ArithmeticDtype;
      readonly to: Location;
    }
  /** Merges matrices of one shape by the singular values of their changes from a base. */
  | {
      readonly kind: 'mergeSpectra';
      readonly rule: 'iso_c' | 'tsv_m';
      readonly program: NativeProgram;
      readonly base: number;
      readonly sources: readonly number[];
      /** Factor of the change. */
      readonly scale: number;
      readonly dtype: ArithmeticDtype;
      readonly to: Location;
    }
  /** Approximates rows by sums of a few rows of another matrix. */
  | {
      readonly kind: 'pursue';
      /** Rows that sums may use, as a single source. */
      readonly atoms: NativeProgram;
      /** Rows to approximate, as a single source of rows of equal length. */
      readonly targets: NativeProgram;
      /** Most rows in a sum: at most the number of atoms and `mostChosen`. */
      readonly k: number;
    };

/** A solution's numbers, in the order of the enumerations in native/jobs. */
export const solutionNumbers = {
  /** The rank's singular values follow. */
  factorise: ['rank', 'squares', 'error', 'nonFinite'],
  regress: ['column', 'diagonal', 'asymmetric'],
  mergeSpectra: [],
  /** Numbers per target, followed by `k` indexes of atoms in the order chosen, and `k` coefficients. */
  pursue: ['chosen', 'squares', 'error'],
} as const satisfies { readonly [K in Solver['kind']]: readonly string[] };

export const sizeOfSolution = (solver: Solver): number => {
  const { length } = solutionNumbers[solver.kind];
  if (solver.kind === 'factorise') return length + solver.rank;
  if (solver.kind !== 'pursue') return length;
  return (solver.targets.count / solver.targets.columns) * (length + 2 * solver.k);
};
