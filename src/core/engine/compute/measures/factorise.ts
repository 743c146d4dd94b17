import { createHash } from 'node:crypto';
import { itemAt } from '../../../base/errors/lookup.js';
import type { Location } from '../../../native/job.js';
import type { FactorDtype } from '../../../native/solve.js';
import type { Operand } from '../../../plan/plan.js';
import type { InputFiles } from '../../input-files.js';
import type { WorkerPool } from '../../threads/pool.js';
import { BlockMeasurer } from './measure.js';
import { type Lowerer, lowerMatrices, type Solving, solve } from './solve.js';

export interface FactorTarget {
  /** Name of the tensor, for errors. With the seed, it also selects the random numbers. */
  readonly tensor: string;
  readonly seed: string;
  readonly shape: readonly [number, number];
  readonly matrix: Operand;
  /** Rank: from 1 to the smaller dimension. */
  readonly rank: number;
  /** Chooses the smallest rank, up to `rank`, that keeps this share of ‖Δ‖²_F; default: `rank`. */
  readonly share?: number | undefined;
  readonly dtype: FactorDtype;
  /** Writes left as [rank, rows] and right as [columns, rank], for embeddings and `fan_in_fan_out`. */
  readonly transposed: boolean;
  /** Place of `lora_B`, or of `lora_A` if transposed: `rows·rank` elements. */
  readonly left: Location;
  /** Place of `lora_A`, or of `lora_B` if transposed: `rank·columns` elements. */
  readonly right: Location;
}

export interface Factors {
  /** The rank used; 0 if Δ is 0, or if Δ has NaN or infinity and nothing was written. */
  readonly rank: number;
  readonly squares: number;
  /** ‖Δ − left·right‖²_F, with rounded factors. */
  readonly error: number;
  readonly nonFinite: number;
  readonly singularValues: readonly number[];
}

/** Returns a truncated SVD by a randomised range finder. Each factor gets √σ. */
export const factorisation = async (
  { seed, shape, matrix, share = 1, tensor, ...how }: FactorTarget,
  lowerer: Lowerer,
): Promise<Solving> => {
  const { program, values, paths } = await lowerMatrices([matrix], shape, lowerer);
  const key = createHash('sha256').update(`${seed}\n${tensor}`).digest().readBigUInt64BE();
  return {
    solver: { kind: 'factorise', program, value: itemAt(values, 0), share, key, ...how },
    sources: [paths],
  };
};

export const factorsOf = (found: Float64Array): Factors => {
  const [rank = 0, squares = 0, error = 0, nonFinite = 0, ...values] = found;
  return { rank, squares, error, nonFinite, singularValues: values.slice(0, rank) };
};

/** @throws MERGE_UNDEFINED, and the codes of `solve` */
export const factoriseMatrix = async (
  pool: WorkerPool,
  inputs: InputFiles,
  target: FactorTarget,
  file: string,
): Promise<Factors> => {
  const { tensor, dtype } = target;
  const measurer = new BlockMeasurer(pool, inputs, tensor);
  const solving = await factorisation(target, { tensor, measurer, inputs });
  return factorsOf((await solve(pool, solving, { tensor, dtype, file })).found);
};
