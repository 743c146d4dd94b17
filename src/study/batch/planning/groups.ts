import { itemAt } from '../../../core/base/errors/lookup.js';
import { type Group, type Slab, type SlabOutput, slicingOf } from '../../../core/engine/compute/tasks.js';
import { isWhole, operationOf } from '../../../core/methods/operations/index.js';
import { sourcesOf } from '../../../core/plan/operands.js';
import type { PlannedTensor } from '../../../core/plan/plan.js';
import { isFloating } from '../../../core/tensor/dtype.js';
import {
  bytesOfSources,
  distinctSources,
  type IdOfSource,
  sourceId,
} from '../../../core/tensor/stored-tensor.js';

/** Shard that several merges may share. */
export interface DistinctShard {
  readonly key: string;
  readonly bytes: number;
  readonly tensors: readonly PlannedTensor[];
}

export interface CostedSlab extends Slab<DistinctShard> {
  /** Bytes of distinct input ranges. */
  readonly bytesToRead: number;
}

/** Shards written together because their tensors share inputs. */
export interface ShardGroup extends Group<DistinctShard> {
  readonly slabs: readonly CostedSlab[];
}

/** Maximum number of shards in a group. Larger groups are cut, and each piece reads shared inputs again. */
const mostShards = 256;

/** Union-find over small integers with path compression; the root of a set is its smallest member. */
class Components {
  readonly #parent: number[] = [];

  add(): number {
    return this.#parent.push(this.#parent.length) - 1;
  }

  find(of: number): number {
    let root = of;
    while (this.#parent[root] !== root) root = itemAt(this.#parent, root);
    for (let at = of; at !== root; ) {
      const next = itemAt(this.#parent, at);
      this.#parent[at] = root;
      at = next;
    }
    return root;
  }

  join(a: number, b: number): void {
    const [one, other] = [this.find(a), this.find(b)];
    this.#parent[Math.max(one, other)] = Math.min(one, other);
  }
}

/**
 * Groups shards that read a common byte range, directly or through others, in order of first shards.
 *
 * @param idOf returns equal ids for equal byte ranges
 */
export const groupShards = (shards: readonly DistinctShard[], idOf: IdOfSource = sourceId): ShardGroup[] => {
  const components = new Components();
  const bySource = new Map<string, number>();
  const ids = shards.map(({ tensors }) => {
    const id = components.add();
    for (const { expression } of tensors)
      for (const source of sourcesOf(expression)) {
        const key = idOf(source);
        const other = bySource.get(key);
        if (other === undefined) bySource.set(key, id);
        else components.join(id, other);
      }
    return id;
  });
  const groups = new Map<number, DistinctShard[]>();
  for (const [index, id] of ids.entries()) {
    const root = components.find(id);
    const group = groups.get(root) ?? [];
    group.push(itemAt(shards, index));
    groups.set(root, group);
  }
  return [...groups.values()].flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / mostShards) }, (_, part) => {
      const some = group.slice(part * mostShards, (part + 1) * mostShards);
      return { shards: some, slabs: slabsOf(some, idOf) };
    }),
  );
};

/**
 * Groups tensors into slabs: tensors of equal shape that share a source, directly or through others. A tensor
 * that is copied, or has no arithmetic, is alone in its slab.
 */
const slabsOf = (shards: readonly DistinctShard[], idOf: IdOfSource): CostedSlab[] => {
  const components = new Components();
  const bySource = new Map<string, number>();
  const outputs: SlabOutput<DistinctShard>[] = shards.flatMap((shard) =>
    shard.tensors.map((tensor) => ({ shard, tensor })),
  );
  const ids = outputs.map(({ tensor }) => {
    const { expression } = tensor;
    const slicing = slicingOf(tensor);
    const id = components.add();
    if (!isShareable(tensor)) return id;
    for (const source of sourcesOf(expression)) {
      // Tensors of different shapes cannot share slices, even over the same bytes.
      const key = `${idOf(source)} ${slicing}`;
      const other = bySource.get(key);
      if (other === undefined) bySource.set(key, id);
      else components.join(id, other);
    }
    return id;
  });
  const slabs = new Map<number, SlabOutput<DistinctShard>[]>();
  for (const [index, id] of ids.entries()) {
    const root = components.find(id);
    const slab = slabs.get(root) ?? [];
    slab.push(itemAt(outputs, index));
    slabs.set(root, slab);
  }
  return [...slabs.values()].map((of) => ({ outputs: of, bytesToRead: bytesOf(of, idOf) }));
};

/** True if a program with several outputs may produce the tensor. */
const isShareable = ({ dtype, expression }: PlannedTensor): boolean =>
  !isWhole(expression) &&
  (isFloating(dtype) || expression.kind === 'quantise') &&
  (expression.kind === 'copy' || operationOf(expression).takesBits !== true);

const bytesOf = (outputs: readonly SlabOutput<DistinctShard>[], idOf: IdOfSource): number =>
  bytesOfSources(
    distinctSources(
      outputs.flatMap(({ tensor }) => sourcesOf(tensor.expression)),
      idOf,
    ),
  );
