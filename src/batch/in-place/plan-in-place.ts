import { groupBy, itemAt, valueAt } from '../../base/lookup.js';
import type { CheckpointIndex } from '../../checkpoint/checkpoint.js';
import { exchangedDtypes, type PlacedTensor } from '../../evaluation/weights-to-load.js';
import { partOfShard } from '../../plan/layout.js';
import { shardKey } from '../../plan/shard-key.js';
import type { BatchMerge } from '../batch-merge.js';
import type { BatchPlan, PlannedMerge } from '../batch-plan.js';
import type { DistinctShard } from '../groups.js';
import type { MergeShard } from '../merge-shards.js';

/** Where the weights of a merge are that is not written. */
export interface PlacedMerge {
  /** Tensors that the merge has of its inputs as they are. */
  readonly copied: readonly PlacedTensor[];
  /** Shards that must be made: of the tensors that are computed, by layer; of all where there is no donor. */
  readonly computed: readonly DistinctShard[];
  /**
   * An input with tensors of the merge's names, shapes and dtypes, which programs load in its place before its tensors.
   * Undefined: there is none, and the merge can only be written.
   */
  readonly donor: CheckpointIndex | undefined;
}

/** Where the weights of a plan's merges are, if none is written. */
export interface PlacedMerges {
  readonly merges: ReadonlyMap<PlannedMerge<BatchMerge>, PlacedMerge>;
  /** The distinct shards that must be made, by key. */
  readonly shards: ReadonlyMap<string, DistinctShard>;
  readonly bytes: number;
  /** Names of merges without a donor. */
  readonly withoutDonor: readonly string[];
}

/** Returns where the weights of merges are, if none is written. Reads no file. */
export const placeMerges = (plan: BatchPlan<BatchMerge>): PlacedMerges => {
  const shardsOf = new Map<string, Pick<PlacedMerge, 'copied' | 'computed'>>();
  const divided = (shard: MergeShard) => {
    const known = shardsOf.get(shard.key) ?? divide(shard, plan);
    shardsOf.set(shard.key, known);
    return known;
  };
  const merges = new Map(plan.merges.map((merge) => [merge, placeMerge(merge, plan, divided)]));
  const shards = new Map(
    [...merges.values()].flatMap(({ computed }) => computed.map((shard) => [shard.key, shard])),
  );
  return {
    merges,
    shards,
    bytes: [...shards.values()].reduce((sum, { bytes }) => sum + bytes, 0),
    withoutDonor: [...merges].flatMap(([{ merge }, { donor }]) => (donor === undefined ? [merge.name] : [])),
  };
};

const placeMerge = (
  { shards }: PlannedMerge<BatchMerge>,
  plan: BatchPlan<BatchMerge>,
  divided: (shard: MergeShard) => Pick<PlacedMerge, 'copied' | 'computed'>,
): PlacedMerge => {
  const parts = shards.map(divided);
  const [copied, computed] = [parts.flatMap((part) => part.copied), parts.flatMap((part) => part.computed)];
  const donor = donorOf([...copied, ...computed.flatMap(({ tensors }) => tensors)], plan);
  if (donor !== undefined) return { copied, computed, donor };
  const written = shards.filter(({ verbatim }) => verbatim === undefined);
  return { copied: [], computed: written.map(({ key }) => valueAt(plan.shards, key)), donor };
};

/** Divides the tensors of a shard into those that inputs have as they are, and those that are computed. */
const divide = (
  { key, verbatim }: MergeShard,
  { shards, inputs, opened, identify }: BatchPlan<BatchMerge>,
): Pick<PlacedMerge, 'copied' | 'computed'> => {
  if (verbatim !== undefined) return { copied: tensorsIn(verbatim, opened.checkpoints), computed: [] };
  const whole = valueAt(shards, key);
  const computed = whole.tensors.filter(({ expression }) => expression.kind !== 'copy');
  const copied = whole.tensors.flatMap(({ name, dtype, shape, expression }): PlacedTensor[] => {
    if (expression.kind !== 'copy') return [];
    const { input, file, begin, end } = expression.source;
    return [{ name, dtype, shape, begin, end, file: itemAt(itemAt(inputs, input).files, file).path }];
  });
  if (copied.length === 0) return { copied, computed: [whole] };
  // By layer, whatever the layout: other merges have the same layer among other copies.
  const parts = [...groupBy(computed, ({ layer }) => layer).values()].map((tensors): DistinctShard => {
    const part = partOfShard(tensors);
    return { ...part, key: shardKey(part.tensors, identify) };
  });
  return { copied, computed: parts };
};

type Opened = BatchPlan<BatchMerge>['opened']['checkpoints'];

const tensorsIn = (path: string, opened: Opened): PlacedTensor[] => {
  const of = opened.find(({ checkpoint }) => checkpoint.files.some((file) => file.path === path))?.checkpoint;
  return [...(of?.tensors ?? [])].flatMap(([name, { file, begin, end, dtype, shape }]) =>
    of?.files[file]?.path === path ? [{ name, file: path, begin, end, dtype, shape }] : [],
  );
};

/** Finds a model that transformers loads as it would the merge. */
const donorOf = (
  tensors: readonly Pick<PlacedTensor, 'name' | 'dtype' | 'shape'>[],
  { opened }: BatchPlan<BatchMerge>,
): CheckpointIndex | undefined => {
  if (!tensors.every(({ dtype }) => exchangedDtypes.includes(dtype))) return undefined;
  return opened.checkpoints
    .map(({ checkpoint }) => checkpoint)
    .find(
      ({ files, path, adapted, config, tensors: own }) =>
        adapted === undefined &&
        config !== undefined &&
        config['quantization_config'] === undefined &&
        files.every((file) => file.path.endsWith('.safetensors') && file.path !== path) &&
        own.size === tensors.length &&
        tensors.every(({ name, dtype, shape }) => {
          const found = own.get(name);
          return found?.dtype === dtype && String(found.shape) === String(shape);
        }),
    );
};
