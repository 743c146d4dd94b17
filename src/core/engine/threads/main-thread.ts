import { isMove, operandsOf } from '../../methods/operations/index.js';
import type { MergePlan, PlannedTensor } from '../../plan/plan.js';
import { operandKind } from '../../tensor/stored-tensor.js';

/** Bytes that the main thread reads and writes in the time that it takes to start two threads. */
const mostBytes = 64e6;

/** Output bytes per task. A task takes about a millisecond; the main thread handles signals between tasks. */
export const mainThreadSlice = 1024 * 1024;

/** True if the main thread finishes before threads could start: few bytes, only copied or averaged. */
export const suitsMainThread = ({ cost, shards }: Pick<MergePlan, 'cost' | 'shards'>): boolean =>
  cost.bytesToRead + cost.bytesToMeasure + cost.bytesToWrite <= mostBytes &&
  // Counts the bytes, because a plan's stated cost is unchecked.
  shards.flatMap(({ tensors }) => tensors).reduce((sum, { begin, end }) => sum + end - begin, 0) <=
    mostBytes &&
  shards.every(({ tensors }) => tensors.every(isSimple));

const isSimple = ({ expression }: PlannedTensor): boolean =>
  isMove(expression) ||
  (expression.kind === 'linear' &&
    operandsOf(expression).every((operand) => operand[operandKind] === 'stored'));
