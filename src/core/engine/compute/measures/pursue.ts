import type { Pursued, Pursuits } from '../../../methods/operations/program/measurer.js';
import { Program } from '../../../methods/operations/program/program.js';
import { solutionNumbers } from '../../../native/solve.js';
import type { InputFiles } from '../../input-files.js';
import type { WorkerPool } from '../../threads/pool.js';
import { nativeProgram } from './native-program.js';
import { solve } from './solve.js';

/** Maximum number of targets in a task, and of float32 numbers kept for them. */
const mostTargets = 256;
const mostNumbers = 8 * 1024 * 1024;

/**
 * Approximates rows. A row's result does not depend on other rows.
 *
 * @throws INPUT_SHRANK, READ_FAILED; and the reason why the pool was stopped
 */
export const pursueRows = async (
  pool: WorkerPool,
  inputs: InputFiles,
  tensor: string,
  { matrix, width, atoms, targets, k }: Pursued,
): Promise<Pursuits> => {
  const rowsOf = (runs: Pursued['atoms']) => {
    const inOrder: [to: number, from: number, count: number][] = [];
    let rows = 0;
    for (const [, from, count] of runs) {
      inOrder.push([rows, from, count]);
      rows += count;
    }
    const program = new Program([rows, width]);
    return { rows, emitted: program.emit([program.gather(matrix, width, inOrder)]) };
  };
  const [ofAtoms, ofTargets] = [rowsOf(atoms), rowsOf(targets)];
  const most = Math.min(k, ofAtoms.rows);
  const native = ({ emitted }: typeof ofAtoms, first: number, rows: number) =>
    nativeProgram(emitted, inputs.fdOf, { first: first * width, count: rows * width });
  const together = Math.max(
    1,
    Math.min(
      mostTargets,
      Math.ceil(ofTargets.rows / pool.threads),
      Math.floor(mostNumbers / (3 * width + most * most)),
    ),
  );
  const { length } = solutionNumbers.pursue;
  const numbers = length + 2 * most;
  const sources = [[inputs.pathOf(matrix)], [inputs.pathOf(matrix)]];
  const found = await Promise.all(
    Array.from({ length: Math.ceil(ofTargets.rows / together) }, async (_, task) => {
      const first = task * together;
      const rows = Math.min(together, ofTargets.rows - first);
      const solver = {
        kind: 'pursue',
        atoms: native(ofAtoms, 0, ofAtoms.rows),
        targets: native(ofTargets, first, rows),
        k: most,
      } as const;
      const { found } = await solve(pool, { solver, sources }, { tensor });
      return Array.from({ length: rows }, (_, row) => found.subarray(row * numbers, (row + 1) * numbers));
    }),
  );
  return found.flat().map((ofTarget) => {
    const [chosen = 0, squares = 0, error = 0] = ofTarget;
    const from = (first: number) => ofTarget.subarray(first, first + chosen);
    return { squares, error, atoms: from(length), coefficients: from(length + most) };
  });
};
