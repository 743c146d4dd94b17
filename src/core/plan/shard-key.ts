import { createHash } from 'node:crypto';
import type { StoredTensor } from '../tensor/stored-tensor.js';
import { keyOf } from './operands.js';
import type { PlannedTensor } from './plan.js';

/** Raised where the same formula comes to other bits than before, or a shard's file is laid out otherwise. */
const keyVersion = 1;

/** Names the content of a stored tensor's input, apart from any other content. */
export type Identify = (source: StoredTensor) => string;

/**
 * The key of a shard: a hash of its tensors' names, dtypes, shapes and expressions over identified inputs.
 * Two merges that share a key share the bytes.
 *
 * @param tensors in the order of the file
 * @returns SHA-256 in hexadecimal
 */
export const shardKey = (
  tensors: readonly Pick<PlannedTensor, 'name' | 'dtype' | 'shape' | 'expression' | 'part'>[],
  identify: Identify,
): string => {
  const hash = createHash('sha256').update(`layerloom shard ${keyVersion}\n`);
  for (const { name, dtype, shape, expression, part } of tensors) {
    const within = part === undefined ? '' : ` in ${part.name} ${part.shape.join()}`;
    hash.update(`${name}\n${dtype} ${shape.join()}${within}\n${keyOf(expression, identify)}\n`);
  }
  return hash.digest('hex');
};
