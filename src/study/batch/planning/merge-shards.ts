import { itemAt } from '../../../core/base/errors/lookup.js';
import type { Composed } from '../../../core/plan/compile/composed.js';
import type { PlanningSession } from '../../../core/plan/compile/inputs/session.js';
import {
  divide,
  type InputFileOf,
  type LayoutOptions,
  placeIn,
  type UnplacedTensor,
} from '../../../core/plan/layout.js';
import { type PlannedInput, type PlannedShard, verbatimPath } from '../../../core/plan/plan.js';
import { type Identify, shardKey } from '../../../core/plan/shard-key.js';
import type { DistinctShard } from './groups.js';

/** Shard of a merge: a store file with this key, or an unchanged input file. */
export interface MergeShard {
  readonly file: string;
  readonly bytes: number;
  readonly key: string;
  /** Path of an unchanged input file. */
  readonly verbatim?: string;
}

interface ShardRules {
  readonly layout: LayoutOptions;
  readonly inputFileOf: InputFileOf;
  readonly identify: Identify;
  readonly inputs: readonly PlannedInput[];
  readonly session: PlanningSession;
}

/** Files of merges over the same models (a frame), and the shards that are already known. */
interface Files {
  readonly file: string;
  readonly indexes: readonly number[];
  readonly decided: Map<string, MergeShard>;
}

/**
 * Merges over the same models share each shard's layout, key and object, so a plan is mostly lists of references.
 */
export class MergeShards {
  readonly #rules: ShardRules;
  readonly distinct = new Map<string, DistinctShard>();
  readonly verbatim = new Map<string, number>();
  readonly #files = new Map<number, readonly Files[]>();

  constructor(rules: ShardRules) {
    this.#rules = rules;
  }

  of({ tensors, frame, adapter }: Composed): MergeShard[] {
    const { session } = this.#rules;
    const id = frame === undefined ? undefined : session.idOf(frame);
    const files =
      (id === undefined ? undefined : this.#files.get(id)) ?? this.#divide(tensors, adapter && 'adapter');
    if (id !== undefined) this.#files.set(id, files);
    return files.map(({ file, indexes, decided }) => {
      const inFile = indexes.map((index) => itemAt(tensors, index));
      const numbers = inFile.map((tensor) => session.idOf(tensor)).join();
      const known = decided.get(numbers) ?? this.#decide(placeIn(file, inFile, this.#rules.inputFileOf));
      decided.set(numbers, known);
      return known;
    });
  }

  /** Returns a merge's shards without adding them to `distinct`, for merges that may never be made. */
  alone(composed: Composed): {
    readonly shards: readonly MergeShard[];
    readonly distinct: ReadonlyMap<string, DistinctShard>;
  } {
    const alone = new MergeShards(this.#rules);
    const shards = alone.of(composed);
    for (const { bytes, verbatim } of shards) if (verbatim !== undefined) this.verbatim.set(verbatim, bytes);
    return { shards, distinct: alone.distinct };
  }

  #divide(tensors: readonly UnplacedTensor[], form: 'adapter' | undefined): Files[] {
    const indexes = new Map(tensors.map((tensor, index) => [tensor, index]));
    return divide(tensors, this.#rules.layout, form).map(({ file, tensors: inFile }) => ({
      file,
      indexes: inFile.map((tensor) => indexes.get(tensor) as number),
      decided: new Map(),
    }));
  }

  #decide(shard: PlannedShard): MergeShard {
    const { file, bytes, tensors } = shard;
    const key = shardKey(tensors, this.#rules.identify);
    const from = verbatimPath(shard, this.#rules.inputs);
    if (from !== undefined) {
      this.verbatim.set(from, bytes);
      return { file, bytes, key, verbatim: from };
    }
    if (!this.distinct.has(key)) this.distinct.set(key, { key, bytes, tensors });
    return { file, bytes, key };
  }
}
