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

/** A matrix to factorise, and the places of its factors in an open file. */
export interface FactorTarget {
  /** The tensor's name, for errors; with the seed it selects the random numbers. */
  readonly tensor: string;
  readonly seed: string;
  /** [rows, columns] */
  readonly shape: readonly [number, number];
  /** Δ: a stored tensor, or the formula that computes it. */
  readonly matrix: Operand;
  /** At most so much; 1 to the smaller extent. */
  readonly rank: number;
  /** Choose the smallest rank that keeps this share of ‖Δ‖²_F, if one up to `rank` does. Default: `rank` itself. */
  readonly share?: number | undefined;
  readonly dtype: FactorDtype;
  /**
   * Write the factors transposed: left as [rank, rows] and right as [columns, rank], as `lora_embedding_A` and `_B` are,
   * and the factors of `fan_in_fan_out`.
   */
  readonly transposed: boolean;
  /** Where left goes, `rows · rank` elements: `lora_B`, or `lora_A` where transposed. */
  readonly left: Location;
  /** Where right goes, `rank · columns` elements: `lora_A`, or `lora_B` where transposed. */
  readonly right: Location;
  /** Path of the file that the factors go to, for errors. */
  readonly file: string;
}

/** A matrix's factors as written, and how near their product is. */
export interface Factors {
  /** 0 where Δ is 0, or has elements that are not finite: nothing is written then. */
  readonly rank: number;
  /** ‖Δ‖²_F */
  readonly squares: number;
  /** ‖Δ − left · right‖²_F, of the factors as rounded to their dtype. */
  readonly error: number;
  /** Number of elements of Δ that are no finite numbers. */
  readonly nonFinite: number;
  /** The largest singular values of Δ, as many as the rank; largest first. */
  readonly singularValues: readonly number[];
}

/**
 * Factorises a matrix in a worker thread: the truncated singular value decomposition left · right, √σ on both sides,
 * by a randomised range finder. The same bits on every instruction set and with any number of threads. The matrix is
 * computed tile by tile, five times.
 *
 * @throws LayerloomError INPUT_SHRANK, READ_FAILED, WRITE_FAILED, MERGE_UNDEFINED; and the reason to stop, of a pool
 *   that is stopped
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
