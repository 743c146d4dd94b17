import type { ElementSlice } from '../../../engine/compute/measures/read-values.js';
import type { Measurer } from '../../../methods/operations/program/measurer.js';
import { Program, type ProgramSource } from '../../../methods/operations/program/program.js';
import { lowerOperand, passesOf, rowsTogether, sourcesOfOperand } from '../../../plan/operands.js';
import type { Operand, PlannedExpression } from '../../../plan/plan.js';
import { bitsOf } from '../../../tensor/dtype.js';
import { elementsOf, type Shape } from '../../../tensor/reference.js';
import { type StoredTensor, storedTensor } from '../../../tensor/stored-tensor.js';

export interface Reading {
  /** Number of elements in a row. Tiles are whole rows, in multiples of `together`. */
  readonly columns: number;
  readonly together: number;
  readonly of: (tiles: readonly ElementSlice[]) => StoredTensor[];
}

/**
 * Returns which input bytes the elements of operands need. Needs all bytes for statistics of whole tensors
 * (such as a threshold) and for tensors with moved or decoded rows.
 */
export const readingOf = async (operands: readonly Operand[], shape: Shape): Promise<Reading> => {
  const elements = elementsOf(shape);
  const plain = operands.filter((operand) => !needsAll(operand));
  const program = new Program(shape);
  const lowering = { tensor: 'a tensor', program, measurer: unmeasured };
  const values = [];
  for (const operand of plain) values.push(await lowerOperand(operand, lowering));
  const { sources, columns, rowsTogether: together } = program.emit(values);
  const whole = operands.filter(needsAll);
  const [first = 1] = shape;
  return {
    // A row along the first dimension consists of whole rows along the last.
    columns: whole.length > 0 && shape.length > 2 ? elements / Math.max(1, first) : columns,
    together: Math.max(1, together, ...whole.map((operand) => rowsTogether(sumOf(operand)))),
    of: (tiles) => [
      ...whole.flatMap(sourcesOfOperand),
      ...sources.flatMap((source) =>
        isPlain(source, elements) ? tiles.map((tile) => partOf(source, tile)) : source,
      ),
    ],
  };
};

const sumOf = (operand: Operand): PlannedExpression => ({
  kind: 'linear',
  terms: [{ source: operand, weight: 1 }],
});

const needsAll = (operand: Operand): boolean =>
  passesOf(sumOf(operand)).some(({ what }) => what !== 'finite factors');

const isPlain = ({ begin, end, dtype, sliced }: ProgramSource, elements: number): boolean =>
  sliced === undefined && (end - begin) * 8 === elements * bitsOf(dtype);

const partOf = (
  { input, file, begin, dtype }: StoredTensor,
  { first, count }: ElementSlice,
): StoredTensor => {
  const bits = bitsOf(dtype);
  const range = {
    begin: begin + Math.floor((first * bits) / 8),
    end: begin + Math.ceil(((first + count) * bits) / 8),
  };
  return storedTensor(input, { file, dtype, ...range });
};

/** Throws if a statistic is measured: no such operand needs one. */
const unmeasured = new Proxy({} as Measurer, {
  get: (_, name) => {
    throw new RangeError(`${String(name)} of a tensor without statistics`);
  },
});
