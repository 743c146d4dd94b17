import type { PartName, Side } from '../../methods/framework/part-names.js';
import type { Architecture } from '../../models/architecture/architecture.js';
import type { CheckpointIndex } from '../../models/checkpoint/checkpoint.js';

export interface PartitionBase {
  readonly checkpoint: CheckpointIndex;
  readonly architecture: Architecture;
}

export { type PartName, partNames, type Side, sides } from '../../methods/framework/part-names.js';

/** By location: the language gets the first `bottom` and last `top` layers, the task all layers between. */
export interface FoundByLocation {
  readonly by: 'location';
  readonly bottom: number;
  readonly top: number;
  /** Part that gets parameters outside the layers. */
  readonly others: PartName;
  readonly norms: 'layer' | 'others';
}

/** By analysis: each unit goes to the expert that changed it more, relative to the expert's mean. */
export interface FoundByAnalysis {
  readonly by: 'analysis';
  readonly language: { readonly name: string; readonly file: string };
  readonly task: { readonly name: string; readonly file: string };
  readonly granularity: Granularity;
  /** Part that gets parameters outside the layers; null if the analysis decides. */
  readonly others: PartName | null;
  readonly norms: 'layer' | 'others';
}

/** The unit that an analysis assigns: a tensor, a module (weight and bias), or a layer. */
export type Granularity = 'tensor' | 'module' | 'layer';

export const granularities: readonly Granularity[] = ['tensor', 'module', 'layer'];

export const partitionFormat = 'layerloom-partition-1';

/** The content of `partition.json`. Each parameter is in exactly one part, in file order. */
export interface Partition {
  readonly format: typeof partitionFormat;
  readonly base: { readonly name: string; readonly path: string };
  readonly family: string;
  readonly layers: number;
  /** Prefix of layer numbers, such as `model.layers`. */
  readonly stack: string;
  readonly found: FoundByLocation | FoundByAnalysis;
  readonly parts: Readonly<Record<PartName, readonly string[]>>;
  /** LoRA's targets by part: modules with matrix weights in layers; for a mixture, attention only. */
  readonly linear: Readonly<Record<PartName, readonly string[]>>;
  readonly parameters: Readonly<Record<PartName, number>>;
}

/** Returns the parameters in a side's part and in `both`. */
export const trainedBy = ({ parts }: Partition, side: Side): readonly string[] => [
  ...parts[side],
  ...parts.both,
];

export const adaptedBy = ({ linear }: Partition, side: Side): readonly string[] => [
  ...linear[side],
  ...linear.both,
];

/**
 * True for a mixture of experts. There, PEFT 0.21 turns targets of routers and experts into the tensors that
 * transformers 5 fuses, in every layer. It also reduces a regular expression to the last parts of matching
 * names.
 */
export const isMixture = (names: Iterable<string>): boolean => {
  for (const name of names) if (name.includes('.experts.')) return true;
  return false;
};
