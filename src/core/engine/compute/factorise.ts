import { createHash } from 'node:crypto';
import { itemAt } from '../../base/lookup.js';
import { Program } from '../../methods/operations/program.js';
import { type FactorDtype, factorNumbers } from '../../native/factorise.js';
import type { Location } from '../../native/job.js';
import { lowerOperand } from '../../plan/operands.js';
import type { Operand } from '../../plan/plan.js';
import type { InputFiles } from '../input-files.js';
import { failureOf } from '../threads/errors.js';
import type { WorkerPool } from '../threads/pool.js';
import { BlockMeasurer } from './measure.js';
import { nativeProgram } from './native-program.js';

export interface FactorTarget {
  /** For errors; with the seed, selects the random numbers. */
  readonly tensor: string;
  readonly seed: string;
  readonly shape: readonly [number, number];
  /** The matrix Δ. */
  readonly matrix: Operand;
  /** Maximum rank, from 1 to the smaller extent. */
  readonly rank: number;
  /** Take the smallest rank up to `rank` that keeps this share of ‖Δ‖²_F, if any. Default: `rank`. */
  readonly share?: number | undefined;
  readonly dtype: FactorDtype;
  /**
   * Write left as [rank, rows] and right as [columns, rank], as for `lora_embedding_A` and `_B`, and for
   * `fan_in_fan_out`.
   */
  readonly transposed: boolean;
  /** `rows · rank` elements: `lora_B`; transposed, `lora_A`. */
  readonly left: Location;
  /** `rank · columns` elements: `lora_A`; transposed, `lora_B`. */
  readonly right: Location;
  /** For errors. */
  readonly file: string;
}

export interface Factors {
  /** 0, and nothing is written, if Δ is 0 or contains NaN or infinity. */
  readonly rank: number;
  /** ‖Δ‖²_F */
  readonly squares: number;
  /** ‖Δ − left · right‖²_F, with rounded factors. */
  readonly error: number;
  /** NaN and infinite elements of Δ. */
  readonly nonFinite: number;
  /** The `rank` largest of Δ, descending. */
  readonly singularValues: readonly number[];
}

/**
 * Factorises a matrix in a worker thread, by a truncated singular value decomposition with a randomised range
 * finder. Each factor is multiplied by √σ. The bits do not depend on instruction set or number of threads.
 * Computes the matrix five times, tile by tile.
 *
 * @throws LayerloomError INPUT_SHRANK, READ_FAILED, WRITE_FAILED, MERGE_UNDEFINED; and the reason why the
 *   pool was stopped
 */
export const factoriseMatrix = async (
  pool: WorkerPool,
  inputs: InputFiles,
  target: FactorTarget,
): Promise<Factors> => {
  const { tensor, shape, matrix, rank, share = 1, dtype, transposed, left, right } = target;
  const program = new Program(shape);
  const measurer = new BlockMeasurer(pool, inputs, tensor);
  const value = await lowerOperand(matrix, { tensor, program, measurer });
  const emitted = program.emit([value]);
  const result = await pool.factorise({
    program: nativeProgram(emitted, (source) => inputs.fdOf(source), { first: 0, count: program.elements }),
    value: itemAt(emitted.values, 0),
    rank,
    share,
    dtype,
    transposed,
    left,
    right,
    key: createHash('sha256').update(`${target.seed}\n${tensor}`).digest().readBigUInt64BE(),
  });
  if (!result.ok)
    throw failureOf(
      result.status,
      { tensor, dtype, file: target.file },
      emitted.sources.map((source) => inputs.pathOf(source)),
    );
  const [found = 0, squares = 0, error = 0, nonFinite = 0] = result.found;
  const values = result.found.subarray(factorNumbers.length, factorNumbers.length + found);
  return { rank: found, squares, error, nonFinite, singularValues: [...values] };
};
