import { groupBy, itemAt, valueAt } from '../../../core/base/errors/lookup.js';
import type { CheckpointIndex } from '../../../core/models/checkpoint/checkpoint.js';
import { storedTensors } from '../../../core/models/checkpoint/stored-tensors.js';
import { partOfShard } from '../../../core/plan/layout.js';
import { keyOfStored } from '../../../core/plan/operands/stored.js';
import { type Identify, shardKey } from '../../../core/plan/shard-key.js';
import { placedInFile } from '../../../core/plan/tensors-in-file.js';
import { type StoredTensor, storedTensor } from '../../../core/tensor/stored-tensor.js';
import type { BatchMerge } from '../../batch/planning/batch-merge.js';
import type { BatchPlan, PlannedMerge } from '../../batch/planning/batch-plan.js';
import type { DistinctShard } from '../../batch/planning/groups.js';
import type { MergeShard } from '../../batch/planning/merge-shards.js';
import { type ContentPart, slotOf } from '../../evaluation/model-contents.js';
import { exchangedDtypes, type PlacedTensor } from '../../evaluation/servers/weights-to-load.js';

export interface PlacedMerge {
  /** Unchanged tensors, located in the inputs. */
  readonly copied: readonly PlacedTensor[];
  /** Computed tensors by layer; whole shards if there is no donor. */
  readonly computed: readonly DistinctShard[];
  /**
   * Donor: an input with the merge's tensor names, shapes and dtypes, which programs load first. Without
   * a donor, the merge must be written.
   */
  readonly donor: CheckpointIndex | undefined;
  readonly parts: readonly ContentPart[];
}

type DividedShard = Pick<PlacedMerge, 'copied' | 'computed'> & { readonly part: ContentPart };

export interface PlacedMerges {
  readonly merges: ReadonlyMap<PlannedMerge<BatchMerge>, PlacedMerge>;
  readonly shards: ReadonlyMap<string, DistinctShard>;
  readonly bytes: number;
  readonly withoutDonor: readonly string[];
}

export const placeMerges = (plan: BatchPlan<BatchMerge>): PlacedMerges => {
  const shardsOf = new Map<string, DividedShard>();
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
  divided: (shard: MergeShard) => DividedShard,
): PlacedMerge => {
  const ofShards = shards.map(divided);
  const parts = ofShards.map(({ part }) => part);
  const copied = ofShards.flatMap((shard) => shard.copied);
  const computed = ofShards.flatMap((shard) => shard.computed);
  const donor = donorOf([...copied, ...computed.flatMap(({ tensors }) => placedInFile(tensors))], plan);
  if (donor !== undefined) return { copied, computed, donor, parts };
  const written = shards.filter(({ verbatim }) => verbatim === undefined);
  return { copied: [], computed: written.map(({ key }) => valueAt(plan.shards, key)), donor, parts };
};

const divide = (
  { key, verbatim }: MergeShard,
  { shards, inputs, opened, identify }: BatchPlan<BatchMerge>,
): DividedShard => {
  if (verbatim !== undefined) {
    const found = tensorsIn(verbatim, opened.checkpoints);
    const part = partOf(found, identify);
    return { copied: found.map(({ tensor }) => tensor), computed: [], part };
  }
  const whole = valueAt(shards, key);
  const copied = whole.tensors.flatMap(({ name, dtype, shape, expression, part }): StoredCopy[] => {
    // A program cannot load only a part of a tensor.
    if (expression.kind !== 'copy' || part !== undefined) return [];
    const { source } = expression;
    const file = itemAt(itemAt(inputs, source.input).files, source.file).path;
    return [{ tensor: { name, dtype, shape, begin: source.begin, end: source.end, file }, source }];
  });
  if (copied.length === 0) return { copied: [], computed: [whole], part: partOf([], identify, [whole]) };
  // Divides computed tensors by layer in any layout, because other merges combine the same computed layers
  // with other copies.
  const ofLayers = groupBy(
    whole.tensors.filter(({ expression, part }) => expression.kind !== 'copy' || part !== undefined),
    ({ layer }) => layer,
  );
  const computed = [...ofLayers.values()].map((tensors): DistinctShard => {
    const part = partOfShard(tensors);
    return { ...part, key: shardKey(part.tensors, identify) };
  });
  const part = partOf(copied, identify, computed);
  return { copied: copied.map(({ tensor }) => tensor), computed, part };
};

interface StoredCopy {
  readonly tensor: PlacedTensor;
  readonly source: StoredTensor;
}

/** Identifies a shard's contents: copies by their bytes, computed tensors by the new shard's key. */
const partOf = (
  copied: readonly StoredCopy[],
  identify: Identify,
  computed: readonly DistinctShard[] = [],
): ContentPart => {
  const made = computed.flatMap(({ key, tensors }) =>
    placedInFile(tensors).map((tensor) => ({ key, tensor })),
  );
  return {
    slots: [
      ...copied.map(({ tensor }) => slotOf(tensor.name, tensor)),
      ...made.map(({ tensor }) => slotOf(tensor.name, tensor)),
    ],
    contents: [...copied.map(({ source }) => keyOfStored(source, identify)), ...made.map(({ key }) => key)],
  };
};

type Opened = BatchPlan<BatchMerge>['opened']['checkpoints'];

const tensorsIn = (path: string, opened: Opened): StoredCopy[] => {
  const input = opened.findIndex(({ checkpoint }) => checkpoint.files.some((file) => file.path === path));
  const of = opened[input]?.checkpoint;
  return [...(of === undefined ? [] : storedTensors(of))].flatMap(([name, tensor]) => {
    const { file, begin, end, dtype, shape } = tensor;
    return of?.files[file]?.path === path
      ? [{ tensor: { name, file: path, begin, end, dtype, shape }, source: storedTensor(input, tensor) }]
      : [];
  });
};

/** Returns an input that transformers loads in the same way as the merge; undefined if no input does. */
const donorOf = (
  wanted: readonly Pick<PlacedTensor, 'name' | 'dtype' | 'shape'>[],
  { opened }: BatchPlan<BatchMerge>,
): CheckpointIndex | undefined => {
  if (!wanted.every(({ dtype }) => exchangedDtypes.includes(dtype))) return undefined;
  return opened.checkpoints
    .map(({ checkpoint }) => checkpoint)
    .find(
      (checkpoint) =>
        checkpoint.adapted === undefined &&
        checkpoint.notAsLoaded === undefined &&
        checkpoint.config !== undefined &&
        checkpoint.config['quantization_config'] === undefined &&
        checkpoint.files.every(({ path }) => path.endsWith('.safetensors') && path !== checkpoint.path) &&
        hasAll(storedTensors(checkpoint), wanted),
    );
};

const hasAll = (
  own: CheckpointIndex['tensors'],
  wanted: readonly Pick<PlacedTensor, 'name' | 'dtype' | 'shape'>[],
): boolean =>
  own.size === wanted.length &&
  wanted.every(({ name, dtype, shape }) => {
    const found = own.get(name);
    return found?.dtype === dtype && String(found.shape) === String(shape);
  });
