import type { Group, Slab, SlabOutput } from '../engine/compute/tasks.js';
import { itemAt } from '../lookup.js';
import { operationOf } from '../operations/index.js';
import { sourcesOf } from '../plan/operands.js';
import type { PlannedTensor } from '../plan/plan.js';
import { isFloating } from '../tensor/dtype.js';
import { bytesOfSources, distinctSources, sourceId } from '../tensor/stored-tensor.js';

/** A shard that several merges may share: its place in files is decided, its place in the store is its key's. */
export interface DistinctShard {
  readonly key: string;
  readonly bytes: number;
  readonly tensors: readonly PlannedTensor[];
}

/** A slab of shards that merges share, and what it costs. */
export interface CostedSlab extends Slab<DistinctShard> {
  /** Distinct byte ranges of inputs, in bytes. */
  readonly bytesToRead: number;
}

/** Shards whose slabs have inputs in common: they are written side by side. */
export interface ShardGroup extends Group<DistinctShard> {
  readonly slabs: readonly CostedSlab[];
}

/** Files written side by side, at most: a group of more is cut, and what its parts share is read for each. */
const mostShards = 256;

class Components {
  readonly #parent: number[] = [];

  add(): number {
    return this.#parent.push(this.#parent.length) - 1;
  }

  find(of: number): number {
    let root = of;
    while (this.#parent[root] !== root) root = this.#parent[root] as number;
    for (let at = of; at !== root; ) {
      const next = this.#parent[at] as number;
      this.#parent[at] = root;
      at = next;
    }
    return root;
  }

  join(a: number, b: number): void {
    const [low, high] = [this.find(a), this.find(b)].sort((x, y) => x - y) as [number, number];
    this.#parent[high] = low;
  }
}

/** Puts what is made of the same bytes together, in the order of the shards. */
export const groupShards = (shards: readonly DistinctShard[]): ShardGroup[] => {
  const components = new Components();
  const bySource = new Map<string, number>();
  const ids = shards.map(({ tensors }) => {
    const id = components.add();
    for (const { expression } of tensors)
      for (const source of sourcesOf(expression)) {
        const key = sourceId(source);
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
      return { shards: some, slabs: slabsOf(some) };
    }),
  );
};

/** Of tensors that share a source. Those whose bytes are moved whatever they mean stand alone, as do empty ones. */
const slabsOf = (shards: readonly DistinctShard[]): CostedSlab[] => {
  const components = new Components();
  const bySource = new Map<string, number>();
  const outputs: SlabOutput<DistinctShard>[] = shards.flatMap((shard) =>
    shard.tensors.map((tensor) => ({ shard, tensor })),
  );
  const ids = outputs.map(({ tensor }) => {
    const { expression, shape } = tensor;
    const id = components.add();
    if (!isShareable(tensor)) return id;
    for (const source of sourcesOf(expression)) {
      // A tensor of another shape has slices of its own.
      const key = `${sourceId(source)} ${shape.join()}`;
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
  return [...slabs.values()].map((of) => ({ outputs: of, bytesToRead: bytesOf(of) }));
};

/** True for a tensor that a program over inputs of several tensors may make; others go by themselves. */
const isShareable = ({ dtype, expression }: PlannedTensor): boolean =>
  isFloating(dtype) && (expression.kind === 'copy' || operationOf(expression).takesBits !== true);

const bytesOf = (outputs: readonly SlabOutput<DistinctShard>[]): number =>
  bytesOfSources(distinctSources(outputs.flatMap(({ tensor }) => sourcesOf(tensor.expression))));
