import type { Adapter } from '../../../models/adapters/adapter.js';
import { spellingsLike } from '../../../models/architecture/canonical-names.js';
import type { TensorReference } from '../../../tensor/reference.js';
import { storedTensor } from '../../../tensor/stored-tensor.js';
import type { Operand } from '../../plan.js';
import { type Change, changeOf } from './change.js';

export interface WholeTensor {
  readonly reference: TensorReference;
  readonly operand: Operand;
}

/** Bias of a module with `lora_bias`: Σ coefficient·tensor; coefficients include scales. */
export interface AddedBias {
  readonly name: string;
  readonly reference: TensorReference;
  readonly terms: readonly { readonly coefficient: number; readonly operand: Operand }[];
}

/** Changes of an adapter, or of a nested merge of adapters, by the base's parameter names. */
export interface AdapterModel {
  readonly adapters: readonly Adapter[];
  readonly changes: ReadonlyMap<string, Change>;
  readonly whole: ReadonlyMap<string, WholeTensor>;
  readonly added: ReadonlyMap<string, AddedBias>;
}

/** @param input index in the plan's inputs */
export const adapterModel = (adapter: Adapter, input: number): AdapterModel => {
  const { pairs, replaced, added, config, checkpoint } = adapter;
  const stored = (tensor: TensorReference) => storedTensor(input, tensor);
  const of = { input, rsLora: config.rsLora, path: checkpoint.path };
  return {
    adapters: [adapter],
    changes: new Map([...pairs].map(([parameter, pair]) => [parameter, changeOf(pair, of)])),
    whole: new Map(
      [...replaced].map(([parameter, { tensor }]) => [
        parameter,
        { reference: tensor, operand: stored(tensor) },
      ]),
    ),
    added: new Map(
      [...added].map(([parameter, { name, tensor, scale }]) => [
        parameter,
        { name, reference: tensor, terms: [{ coefficient: scale, operand: stored(tensor) }] },
      ]),
    ),
  };
};

export const parametersOf = (models: readonly AdapterModel[]): string[] => [
  ...new Set(
    models.flatMap(({ changes, whole, added }) => [...changes.keys(), ...whole.keys(), ...added.keys()]),
  ),
];

/** Renames parameters to the names in `first`, because versions of transformers use different ones. */
export const inSpellingOfAdapter = (first: AdapterModel, model: AdapterModel): AdapterModel => {
  const spellings = spellingsLike(parametersOf([model]), parametersOf([first]));
  if (spellings.size === 0) return model;
  const respelt = <V>(map: ReadonlyMap<string, V>): ReadonlyMap<string, V> =>
    new Map([...map].map(([name, value]) => [spellings.get(name) ?? name, value]));
  const { adapters, changes, whole, added } = model;
  return { adapters, changes: respelt(changes), whole: respelt(whole), added: respelt(added) };
};
