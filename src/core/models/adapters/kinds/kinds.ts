import type { TensorReference } from '../../../tensor/reference.js';
import { type DoraChange, dora } from './dora.js';
import type { AdapterKind } from './kind.js';
import { type LowRankChange, lora } from './lora.js';

/** W + scale · a tensor of the same shape, as the bias of `lora_B` is added (`lora_bias`). */
export interface AddedChange {
  readonly kind: 'added';
  readonly tensor: TensorReference;
  readonly scale: number;
}

export const addition = (tensor: TensorReference, scale: number): AddedChange => ({
  kind: 'added',
  tensor,
  scale,
});

/** What an adapter makes of a tensor of the base, by tensors of the same checkpoint's files. */
export type AdapterChange = LowRankChange | DoraChange | AddedChange;

export const plainLora: AdapterKind<AdapterChange> = lora;

/** The kinds that a key of `adapter_config.json` names. */
export const keyedKinds: readonly AdapterKind<AdapterChange>[] = [dora];

/** Returns what an adapter makes of a tensor; undefined for a tensor that none changes. */
export const changeIn = ({ change }: TensorReference): AdapterChange | undefined =>
  // The cast holds: `applyAdapter` alone makes changes, of these kinds.
  change as AdapterChange | undefined;
