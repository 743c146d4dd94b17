import type { Dtype } from '../../../../tensor/dtype.js';

// What a pickle of torch.save is made of, as plain data: nothing here was called, and nothing can be.

/** A storage: the entry `data/KEY` of the zip. */
export interface StorageValue {
  readonly kind: 'storage';
  readonly key: string;
  /** Absent for bytes whose tensors say their dtype. */
  readonly dtype: Dtype | undefined;
  readonly elements: number;
}

/** A tensor: a view of a storage. Nothing of it has been compared with the storage yet. */
export interface TensorValue {
  readonly kind: 'tensor';
  readonly storage: StorageValue;
  readonly dtype: Dtype;
  /** All counted in elements. */
  readonly offset: number;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

/** A dictionary, or an OrderedDict. */
export interface DictValue {
  readonly kind: 'dict';
  readonly items: Map<Value, Value>;
}

export const emptyDict = (): DictValue => ({ kind: 'dict', items: new Map() });

export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | { readonly kind: 'tuple' | 'list'; readonly items: Value[] }
  | { readonly kind: 'global'; readonly name: string }
  | DictValue
  | StorageValue
  | TensorValue;

export const isDict = (value: Value | undefined): value is DictValue =>
  typeof value === 'object' && value?.kind === 'dict';

export const isTensor = (value: Value | undefined): value is TensorValue =>
  typeof value === 'object' && value?.kind === 'tensor';

/** The items of a tuple; undefined for other values. */
export const tupleItems = (value: Value | undefined): readonly Value[] | undefined =>
  typeof value === 'object' && value?.kind === 'tuple' ? value.items : undefined;

/** The name of a global; undefined for other values. */
export const globalName = (value: Value | undefined): string | undefined =>
  typeof value === 'object' && value?.kind === 'global' ? value.name : undefined;
