import { LayerloomError } from '../../../../base/errors/errors.js';
import { isCount } from '../../../../base/is-count.js';
import type { Dtype } from '../../../../tensor/dtype.js';
import type { Extent } from '../../../../tensor/extent.js';
import { elementCount, elementsOf, type Shape } from '../../../../tensor/reference.js';
import type { TensorInFile } from '../container-reader.js';
import { short } from '../short-name.js';
import { invalidTorchFile, unsupported } from '../torch/refusals.js';
import { place } from '../torch/state-dict.js';
import {
  type DictValue,
  isDict,
  isTensor,
  listItems,
  objectOf,
  type TensorValue,
  tupleItems,
  type Value,
} from '../torch/values.js';

// Reads model and optimizer states as DeepSpeed's zero_to_fp32.py does.

export interface StatesFile {
  readonly path: string;
  readonly root: Value;
  readonly storages: ReadonlyMap<string, Extent>;
}

/** Consecutive elements in a file. */
export interface Flat {
  readonly file: string;
  readonly dtype: Dtype;
  readonly begin: number;
  readonly elements: number;
}

export interface NamedShape {
  readonly name: string;
  readonly shape: Shape;
}

export interface ModelState {
  /** Trained parameters by optimizer group, in the order of the group's flat vector. */
  readonly groups: readonly (readonly NamedShape[])[];
  readonly frozen: readonly NamedShape[];
  readonly fragments: ReadonlyMap<string, Flat>;
  readonly buffers: ReadonlyMap<string, { readonly file: string; readonly tensor: TensorInFile }>;
  /** Aliases of parameters, each with the name that has values. */
  readonly shared: readonly (readonly [alias: string, name: string])[];
}

export interface OptimizerState {
  readonly stage: number;
  readonly world: number;
  /** This rank's part of the float32 weights: a vector per group. */
  readonly flat: readonly Flat[];
  /** Padding after each parameter in elements, by group. */
  readonly paddings: readonly (readonly number[])[] | undefined;
}

const dictIn = (dict: DictValue, key: string, file: string): DictValue => {
  const value = dict.items.get(key);
  if (!isDict(value)) throw invalidTorchFile(file, `its ${key} is no dictionary`);
  return value;
};

const rootOf = ({ root, path }: StatesFile): DictValue => {
  if (!isDict(root)) throw invalidTorchFile(path, 'it holds no dictionary');
  return root;
};

const itemsOf = (value: Value | undefined): readonly Value[] | undefined =>
  listItems(value) ?? tupleItems(value);

const flatOf = (name: string, value: Value | undefined, { path, storages }: StatesFile): Flat => {
  if (!isTensor(value)) throw invalidTorchFile(path, `its ${short(name)} is no tensor`);
  const { dtype, shape, begin } = place(name, value, storages, path);
  return { file: path, dtype, begin, elements: elementsOf(shape) };
};

const shapesIn = (value: Value | undefined, file: string): readonly NamedShape[] => {
  if (!isDict(value)) throw invalidTorchFile(file, 'its shapes of parameters are no dictionary');
  return [...value.items].map(([name, shape]) => {
    const extents = tupleItems(shape);
    if (typeof name !== 'string' || extents === undefined || extents.length > 64 || !extents.every(isCount))
      throw invalidTorchFile(file, 'it has a shape of a parameter that is no list of at most 64 counts');
    if (elementCount(extents) === undefined)
      throw new LayerloomError('SHAPE_OVERFLOW', { file, tensor: name, shape: extents });
    return { name, shape: extents };
  });
};

/** @throws HEADER_INVALID, SHAPE_OVERFLOW, WEIGHTS_UNSUPPORTED */
export const modelStateIn = (file: StatesFile): ModelState => {
  const { path, storages } = file;
  const root = rootOf(file);
  const groups = itemsOf(root.items.get('param_shapes'));
  if (groups === undefined)
    throw unsupported(path, 'it is of DeepSpeed without ZeRO (no param_shapes), whose weights lie elsewhere');
  const frozen = root.items.get('frozen_param_shapes') ?? null;
  const fragments = root.items.get('frozen_param_fragments') ?? null;
  const names = new Set(itemsOf(root.items.get('buffer_names')) ?? []);
  const buffers = [...dictIn(root, 'module', path).items].filter(
    (entry): entry is [string, TensorValue] =>
      typeof entry[0] === 'string' && names.has(entry[0]) && isTensor(entry[1]),
  );
  const shared = root.items.get('shared_params') ?? null;
  return {
    groups: groups.map((group) => shapesIn(group, path)),
    frozen: frozen === null ? [] : shapesIn(frozen, path),
    fragments: new Map(
      fragments === null
        ? []
        : [...dictIn(root, 'frozen_param_fragments', path).items].map(
            ([name, value]) => [String(name), flatOf(String(name), value, file)] as const,
          ),
    ),
    buffers: new Map(
      buffers.map(([name, value]) => [name, { file: path, tensor: place(name, value, storages, path) }]),
    ),
    shared:
      shared === null
        ? []
        : [...dictIn(root, 'shared_params', path).items].map(([alias, name]) => [
            String(alias),
            String(name),
          ]),
  };
};

/** @throws HEADER_INVALID, WEIGHTS_UNSUPPORTED */
export const optimizerStateIn = (file: StatesFile): OptimizerState => {
  const { path } = file;
  const state = dictIn(rootOf(file), 'optimizer_state_dict', path);
  const given = state.items.get('zero_stage');
  const stage = objectOf(given, 'deepspeed.runtime.zero.config.ZeroStageEnum')?.args[0] ?? given;
  if (stage !== 1 && stage !== 2 && stage !== 3)
    throw unsupported(path, 'its zero_stage is not 1, 2 or 3, so that it holds no weights');
  const count = state.items.get('partition_count');
  const counts = itemsOf(count) ?? [count ?? null];
  if (!counts.every(isCount)) throw invalidTorchFile(path, 'its partition_count is no count');
  const key = stage === 3 ? 'fp32_flat_groups' : 'single_partition_of_fp32_groups';
  const groups = itemsOf(state.items.get(key));
  if (groups === undefined) throw invalidTorchFile(path, `it lacks ${key}`);
  const paddings = itemsOf(state.items.get('param_alignment_paddings'));
  return {
    stage,
    world: counts.reduce((most, one) => Math.max(most, one), 0),
    flat: groups.map((group, index) => flatOf(`${key}.${index}`, group, file)),
    paddings: paddings?.map((group) => {
      const own = itemsOf(group) ?? [null];
      if (!own.every(isCount)) throw invalidTorchFile(path, 'its param_alignment_paddings are no counts');
      return own;
    }),
  };
};
