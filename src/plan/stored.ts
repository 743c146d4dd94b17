import type { TensorChange, TensorReference } from '../tensor/reference.js';
import type { StoredTensor } from '../tensor/stored-tensor.js';
import type { LowRankTensor, Operand } from './plan.js';

/** Returns a tensor's bytes as a plan names them. A tensor with a `change` is not these alone: `operandOf` has its value. */
const storedOf = (input: number, { file, begin, end, dtype }: TensorReference): StoredTensor => ({
  ...{ input, file, begin, end, dtype },
});

/** Returns the operand that a change is a multiple of: the change is `change.scale` of it. */
export const changeOf = (input: number, change: TensorChange): StoredTensor | LowRankTensor =>
  change.kind === 'added'
    ? storedOf(input, change.tensor)
    : {
        dtype: 'F32',
        rank: change.rank,
        transposed: change.transposed,
        a: storedOf(input, change.a),
        b: storedOf(input, change.b),
      };

/**
 * Returns a tensor of an input as an operand: its bytes, or the formula of what an adapter makes of them, rounded to
 * its dtype, so that a merge gives the bits that it gives of the model with the adapter written out.
 *
 * @param input the index of its model in the inputs of the plan
 */
export const operandOf = (input: number, reference: TensorReference): Operand => {
  const stored = storedOf(input, reference);
  const { change, dtype } = reference;
  if (change === undefined) return stored;
  const terms = [
    { source: stored, weight: 1 },
    { source: changeOf(input, change), weight: change.scale },
  ];
  return { dtype, expression: { kind: 'linear', terms } };
};
