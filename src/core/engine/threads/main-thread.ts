import { isMove, operandsOf } from '../../methods/operations/index.js';
import type { MergePlan, PlannedTensor } from '../../plan/plan.js';
import { operandKind } from '../../tensor/stored-tensor.js';

/** The main thread reads and writes as much while two others start. */
const mostBytes = 64e6;

/** Bytes of output in a task. Between tasks, after a millisecond each, the main thread sees signals. */
export const mainThreadSlice = 1024 * 1024;

/** True if the main thread makes a plan's shards sooner than new threads would: few bytes, copied or averaged. */
export const suitsMainThread = ({ cost, shards }: Pick<MergePlan, 'cost' | 'shards'>): boolean =>
  cost.bytesToRead + cost.bytesToMeasure + cost.bytesToWrite <= mostBytes &&
  // `checkPlan` checks offsets, not the cost.
  shards.flatMap(({ tensors }) => tensors).reduce((sum, { begin, end }) => sum + end - begin, 0) <=
    mostBytes &&
  shards.every(({ tensors }) => tensors.every(isSimple));

const isSimple = ({ expression }: PlannedTensor): boolean =>
  isMove(expression) ||
  (expression.kind === 'linear' &&
    operandsOf(expression).every((operand) => operand[operandKind] === 'stored'));
