import type { TensorReference } from '../../../tensor/reference.js';
import { type DoraChange, dora } from './dora.js';
import type { FactoredChange } from './factored.js';
import type { AdapterKind } from './kind.js';
import { type LowRankChange, lora } from './lora.js';
import type { MultipliedChange } from './multiplied.js';
import type { RowsChange } from './rows.js';

/** W + scale·tensor, of the same shape: used for the bias of `lora_B` (`lora_bias`). */
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

export type AdapterChange =
  | LowRankChange
  | DoraChange
  | AddedChange
  | FactoredChange
  | MultipliedChange
  | RowsChange;

export const plainLora: AdapterKind<AdapterChange> = lora;

/** Kinds that a key of `adapter_config.json` selects. */
export const keyedKinds: readonly AdapterKind<AdapterChange>[] = [dora];

export const changeIn = ({ change }: TensorReference): AdapterChange | undefined =>
  // Safe cast: only `applyAdapter` makes changes, all of these kinds.
  change as AdapterChange | undefined;
