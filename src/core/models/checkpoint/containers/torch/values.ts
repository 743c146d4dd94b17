import type { Dtype } from '../../../../tensor/dtype.js';

// Values in a torch.save pickle, as plain data that cannot be called.

/** A storage: the entry `data/KEY` of the zip. */
export interface StorageValue {
  readonly kind: 'storage';
  readonly key: string;
  /** Absent for untyped storages, whose tensors give the dtype. */
  readonly dtype: Dtype | undefined;
  readonly elements: number;
}

/** A view of a storage, not yet checked against the storage's size. */
export interface TensorValue {
  readonly kind: 'tensor';
  readonly storage: StorageValue;
  readonly dtype: Dtype;
  /** Offset, shape and strides count elements. */
  readonly offset: number;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

export interface DictValue {
  readonly kind: 'dict';
  readonly items: Map<Value, Value>;
}

export const emptyDict = (): DictValue => ({ kind: 'dict', items: new Map() });

/** An instance of a known class, whose constructor is not called. */
export interface ObjectValue {
  readonly kind: 'object';
  readonly name: string;
  readonly args: readonly Value[];
  /** Set by BUILD, at most once. */
  state: Value | undefined;
}

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
  | ObjectValue
  | TensorValue;

export const isDict = (value: Value | undefined): value is DictValue =>
  typeof value === 'object' && value?.kind === 'dict';

export const isTensor = (value: Value | undefined): value is TensorValue =>
  typeof value === 'object' && value?.kind === 'tensor';

export const objectOf = (value: Value | undefined, name: string): ObjectValue | undefined =>
  typeof value === 'object' && value?.kind === 'object' && value.name === name ? value : undefined;

export const listItems = (value: Value | undefined): readonly Value[] | undefined =>
  typeof value === 'object' && value?.kind === 'list' ? value.items : undefined;

export const tupleItems = (value: Value | undefined): readonly Value[] | undefined =>
  typeof value === 'object' && value?.kind === 'tuple' ? value.items : undefined;

export const globalName = (value: Value | undefined): string | undefined =>
  typeof value === 'object' && value?.kind === 'global' ? value.name : undefined;
