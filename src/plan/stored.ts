import type { TensorChange, TensorReference } from '../tensor/reference.js';
import { type StoredTensor, storedTensor } from '../tensor/stored-tensor.js';
import { computedTensor } from './operands/computed.js';
import { type LowRankTensor, lowRankTensor } from './operands/low-rank.js';
import type { Operand } from './plan.js';

/** Returns the operand that a change is a multiple of: the change is `change.scale` of it. */
export const changeOf = (input: number, change: TensorChange): StoredTensor | LowRankTensor =>
  change.kind === 'added'
    ? storedTensor(input, change.tensor)
    : lowRankTensor({
        rank: change.rank,
        transposed: change.transposed,
        a: storedTensor(input, change.a),
        b: storedTensor(input, change.b),
      });

/**
 * Returns a tensor of an input as an operand: its bytes, or the formula of what an adapter makes of them, rounded to
 * its dtype, so that a merge gives the bits that it gives of the model with the adapter written out.
 *
 * @param input the index of its model in the inputs of the plan
 */
export const operandOf = (input: number, reference: TensorReference): Operand => {
  const stored = storedTensor(input, reference);
  const { change, dtype } = reference;
  if (change === undefined) return stored;
  const terms = [
    { source: stored, weight: 1 },
    { source: changeOf(input, change), weight: change.scale },
  ];
  return computedTensor(dtype, { kind: 'linear', terms });
};
