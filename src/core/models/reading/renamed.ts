import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import type { TensorReference } from '../../tensor/reference.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';

/**
 * Returns a checkpoint with renamed tensors, or the same one if no name changes.
 *
 * @param nameOf undefined removes a tensor
 * @throws DUPLICATE_TENSOR if two tensors get one name
 */
export const renamed = (
  checkpoint: CheckpointIndex,
  nameOf: (name: string) => string | undefined,
): CheckpointIndex => {
  const { tensors: given, stored = given, files, descriptions } = checkpoint;
  if ([...given.keys()].every((name) => nameOf(name) === name)) return checkpoint;
  const tensors = new Map<string, TensorReference>();
  const former = new Map<string, string>();
  for (const [name, reference] of given) {
    const plain = nameOf(name);
    if (plain === undefined) continue;
    const twin = former.get(plain);
    if (twin !== undefined) {
      const place = (one: string) => `${itemAt(files, given.get(one)?.file ?? 0).path} (${one})`;
      throw new LayerloomError('DUPLICATE_TENSOR', { tensor: plain, file: place(name), alsoIn: place(twin) });
    }
    former.set(plain, name);
    tensors.set(plain, reference);
  }
  const described = [...(descriptions ?? [])].map(([name, bytes]) => [nameOf(name) ?? name, bytes] as const);
  return {
    ...checkpoint,
    tensors,
    stored,
    ...(descriptions === undefined ? {} : { descriptions: new Map(described) }),
  };
};
