import type { RecipePath } from '../../methods/framework/declaration/method.js';
import { invalidSetting } from '../../methods/framework/declaration/settings.js';
import type { CheckpointIndex } from '../../models/checkpoint/checkpoint.js';
import { isObject } from '../../models/checkpoint/files/json.js';
import { jsonOrNone } from '../../texts/json.js';

/**
 * Gives each layer its Gram matrix. Queries, keys and values have the same input, so files store one matrix
 * for several layers; the metadata key `shared` is JSON `{"LAYER": "LAYER WITH A MATRIX"}`.
 *
 * @throws INVALID_PARAMETER if `shared` is other JSON, or names a missing matrix
 */
export const withSharedGrams = (
  checkpoint: CheckpointIndex,
  path: RecipePath = ['grams'],
): CheckpointIndex => {
  const tensors = new Map(checkpoint.tensors);
  for (const { shared } of checkpoint.metadata) {
    if (shared === undefined) continue;
    const names = jsonOrNone(shared);
    if (!isObject(names))
      throw invalidSetting(
        path,
        checkpoint.path,
        'a file of Gram matrices whose `shared` is JSON of names by names',
      );
    for (const [name, owner] of Object.entries(names)) {
      const found = typeof owner === 'string' ? checkpoint.tensors.get(owner) : undefined;
      if (found === undefined || tensors.has(name))
        throw invalidSetting(
          path,
          checkpoint.path,
          `a file that has each Gram matrix once, and that which ${name} shares is not there or another`,
        );
      tensors.set(name, found);
    }
  }
  return { ...checkpoint, tensors };
};
