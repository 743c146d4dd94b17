import type { PartName, Side } from '../../methods/framework/part-names.js';
import type { Architecture } from '../../models/architecture/architecture.js';
import type { CheckpointIndex } from '../../models/checkpoint/checkpoint.js';

/** The base of a partition: its headers, and what its names tell. */
export interface PartitionBase {
  readonly checkpoint: CheckpointIndex;
  readonly architecture: Architecture;
}

export { type PartName, partNames, type Side, sides } from '../../methods/framework/part-names.js';

/** By location, as in a layer swap: the first `bottom` and last `top` layers are the language's, the middle is the task's. */
export interface FoundByLocation {
  readonly by: 'location';
  readonly bottom: number;
  readonly top: number;
  /** The part of what is outside the layers. */
  readonly others: PartName;
  readonly norms: 'layer' | 'others';
}

/** By an analysis: each unit of parameters is the part of the expert that changed it more, relative to its own mean change. */
export interface FoundByAnalysis {
  readonly by: 'analysis';
  /** The experts' names, and the files that their changes were read from. */
  readonly language: { readonly name: string; readonly file: string };
  readonly task: { readonly name: string; readonly file: string };
  readonly granularity: Granularity;
  /** The part of what is outside the layers; null where the analysis decides. */
  readonly others: PartName | null;
  readonly norms: 'layer' | 'others';
}

/** Parameters that an analysis gives to one part together: a tensor; a module's weight and bias; a layer. */
export type Granularity = 'tensor' | 'module' | 'layer';

export const granularities: readonly Granularity[] = ['tensor', 'module', 'layer'];

/** The format and version of `partition.json`. */
export const partitionFormat = 'layerloom-partition-1';

/**
 * Parameters of a model, assigned to a language and a task: the content of `partition.json`. Each parameter is
 * in exactly one part. Names are those of the checkpoint, in its order.
 */
export interface Partition {
  readonly format: typeof partitionFormat;
  readonly base: { readonly name: string; readonly path: string };
  /** `model_type` of `config.json`. */
  readonly family: string;
  /** L. */
  readonly layers: number;
  /** The prefix of the layers' numbers: `model.layers`. */
  readonly stack: string;
  readonly found: FoundByLocation | FoundByAnalysis;
  readonly parts: Readonly<Record<PartName, readonly string[]>>;
  /** Modules of a part inside the layers whose weight is a matrix: what LoRA adapts. Of a mixture, attention only. */
  readonly linear: Readonly<Record<PartName, readonly string[]>>;
  /** Numbers of parameters (elements). */
  readonly parameters: Readonly<Record<PartName, number>>;
}

/** Returns the parameters that a training of one side updates: its own part and what both train. */
export const trainedBy = ({ parts }: Partition, side: Side): readonly string[] => [
  ...parts[side],
  ...parts.both,
];

/** Returns the modules that LoRA adapts in a training of one side. */
export const adaptedBy = ({ linear }: Partition, side: Side): readonly string[] => [
  ...linear[side],
  ...linear.both,
];

/**
 * True for a mixture of experts. PEFT 0.21 turns targets of their routers and experts into targets of the tensors that
 * transformers 5 fuses them into, in every layer; and a regular expression into the last parts of the names it matches.
 */
export const isMixture = (names: Iterable<string>): boolean => {
  for (const name of names) if (name.includes('.experts.')) return true;
  return false;
};
