import { open } from 'node:fs/promises';
import {
  describeNonFinite,
  firstOf,
  type NonFiniteValue,
} from '../../core/engine/compute/measures/non-finite.js';
import { failureOf } from '../../core/engine/threads/errors.js';
import type { WorkerPool } from '../../core/engine/threads/pool.js';
import { keepsBits } from '../../core/plan/operands.js';
import type { PlannedTensor } from '../../core/plan/plan.js';
import { arithmeticOf } from '../../core/tensor/dtype.js';
import { elementsOf } from '../../core/tensor/reference.js';
import type { ShardStore } from '../store/shard-store.js';
import type { DistinctShard } from './planning/groups.js';

/**
 * Returns the NaN or infinity in a stored shard or its inputs; null if all are finite. If an earlier version's record
 * does not state it, reads the computed tensors once and updates the record.
 *
 * @throws INPUT_SHRANK, READ_FAILED, WRITE_FAILED, and the reason why the pool stopped
 */
export const storedNonFinite = async (
  { key, tensors }: Pick<DistinctShard, 'key' | 'tensors'>,
  store: ShardStore,
  pool: WorkerPool,
): Promise<NonFiniteValue | null> => {
  const record = await store.lookup(key);
  if (record === undefined) return null;
  if (record.nonFinite !== undefined) return record.nonFinite;
  const found = await lookAt(
    store.pathOf(key),
    tensors.filter(({ expression }) => !keepsBits(expression)),
    pool,
  );
  await store.noteNonFinite(record, found);
  return found;
};

const lookAt = async (
  path: string,
  tensors: readonly PlannedTensor[],
  pool: WorkerPool,
): Promise<NonFiniteValue | null> => {
  if (tensors.length === 0) return null;
  const file = await open(path);
  try {
    for (const tensor of tensors) {
      const dtype = arithmeticOf(tensor.dtype);
      const count = elementsOf(tensor.shape);
      const result = await pool.measure({
        program: {
          sources: [{ fd: file.fd, begin: tensor.begin, dtype, slicing: 'elements' }],
          nodes: [],
          first: 0,
          count,
          columns: Math.max(1, count),
          watched: [0],
        },
        measures: [{ kind: 'magnitudes', value: 0 }],
      });
      if (!result.ok) throw failureOf(result.status, { tensor: tensor.name }, [path]);
      const first = firstOf(result.nonFinite);
      if (first !== undefined) return describeNonFinite(first, tensor);
    }
    return null;
  } finally {
    await file.close();
  }
};
