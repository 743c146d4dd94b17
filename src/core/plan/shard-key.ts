import { createHash } from 'node:crypto';
import type { StoredTensor } from '../tensor/stored-tensor.js';
import { keyOf } from './operands.js';
import type { PlannedTensor } from './plan.js';

/** Version of shard keys. Increment it if a formula's bits or the shards' file layout change. */
const keyVersion = 1;

export type Identify = (source: StoredTensor) => string;

/**
 * Hashes a shard's tensors over inputs identified by content. Equal keys mean equal bytes.
 *
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
