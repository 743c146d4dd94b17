import type { Measurer } from '../../../methods/operations/program/measurer.js';
import { Program, type Value } from '../../../methods/operations/program/program.js';
import type { NativeProgram } from '../../../native/job.js';
import type { Solver } from '../../../native/solve.js';
import { lowerOperand } from '../../../plan/operands.js';
import type { Operand } from '../../../plan/plan.js';
import type { Shape } from '../../../tensor/reference.js';
import type { InputFiles } from '../../input-files.js';
import { type Failing, failureOf } from '../../threads/errors.js';
import type { WorkerPool } from '../../threads/pool.js';
import type { Results } from '../../threads/task.js';
import { nativeProgram } from './native-program.js';

export interface Matrices {
  readonly program: NativeProgram;
  /** Index of each operand's value. */
  readonly values: readonly number[];
  readonly paths: readonly string[];
}

export interface Lowerer {
  readonly tensor: string;
  readonly measurer: Measurer;
  readonly inputs: InputFiles;
}

export const lowerMatrices = async (
  operands: readonly Operand[],
  shape: Shape,
  { tensor, measurer, inputs }: Lowerer,
): Promise<Matrices> => {
  const program = new Program(shape, inputs.idOf);
  const lowered: Value[] = [];
  for (const operand of operands) lowered.push(await lowerOperand(operand, { tensor, program, measurer }));
  const emitted = program.emit(lowered, 'all');
  return {
    program: nativeProgram(emitted, inputs.fdOf, { first: 0, count: program.elements }),
    values: emitted.values,
    paths: emitted.sources.map(inputs.pathOf),
  };
};

export interface Solving {
  readonly solver: Solver;
  /** Paths of each program's sources, for errors. NaN is searched only in values of the first program. */
  readonly sources: readonly (readonly string[])[];
}

/**
 * Runs a solver. The result has the same bits with every instruction set and number of threads.
 *
 * @throws INPUT_SHRANK, READ_FAILED, WRITE_FAILED; and the reason why the pool was stopped
 */
export const solve = async (
  pool: WorkerPool,
  { solver, sources }: Solving,
  failing: Failing,
): Promise<Extract<Results['solve'], { readonly ok: true }>> => {
  const result = await pool.solve(solver);
  if (result.ok) return result;
  throw failureOf(result.status, failing, sources.flat());
};
