import { Program, type Value } from '../../methods/operations/program.js';
import type { NativeProgram } from '../../native/job.js';
import { lowerOperand } from '../../plan/operands.js';
import type { Operand } from '../../plan/plan.js';
import type { Shape } from '../../tensor/reference.js';
import type { InputFiles } from '../input-files.js';
import type { BlockMeasurer } from './measure.js';
import { nativeProgram } from './native-program.js';

/** Whole matrices of one shape, for a native job. */
export interface Matrices {
  readonly program: NativeProgram;
  /** In operand order. */
  readonly values: readonly number[];
  /** For errors. */
  readonly paths: readonly string[];
}

/** @param tensor for errors */
export const lowerMatrices = async (
  operands: readonly Operand[],
  shape: Shape,
  tensor: string,
  measurer: BlockMeasurer,
  inputs: InputFiles,
): Promise<Matrices> => {
  const program = new Program(shape, inputs.idOf);
  const lowered: Value[] = [];
  for (const operand of operands) lowered.push(await lowerOperand(operand, { tensor, program, measurer }));
  const emitted = program.emit(lowered, 'all');
  return {
    program: nativeProgram(emitted, (source) => inputs.fdOf(source), { first: 0, count: program.elements }),
    values: emitted.values,
    paths: emitted.sources.map((source) => inputs.pathOf(source)),
  };
};
