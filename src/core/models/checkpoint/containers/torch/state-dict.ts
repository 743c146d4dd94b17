import { LayerloomError } from '../../../../base/errors/errors.js';
import type { Extent } from '../../../../tensor/extent.js';
import { byteLength, elementCount } from '../../../../tensor/reference.js';
import type { TensorInFile } from '../container-reader.js';
import { checkTensorName, short } from '../short-name.js';
import { unsupported } from './refusals.js';
import { type DictValue, isDict, isTensor, type TensorValue, type Value } from './values.js';

export const usualKeys = ['state_dict', 'model', 'module'];

export const tensorsOf = (
  root: Value,
  storages: ReadonlyMap<string, Extent>,
  file: string,
): ReadonlyMap<string, TensorInFile> => {
  const tensors = new Map<string, TensorInFile>();
  for (const [key, value] of stateDictOf(root, file).items) {
    const name = String(key);
    if (!isTensor(value))
      throw unsupported(
        file,
        `${short(name)} is no tensor, beside others that are; its tensors alone can be read`,
      );
    tensors.set(name, place(name, value, storages, file));
  }
  return tensors;
};

/** Finds the state dict: the root, or, if that has no tensors, the only usual key that has. */
const stateDictOf = (root: Value, file: string): DictValue => {
  if (!isDict(root)) throw unsupported(file, 'it holds no dictionary of tensors');
  checkNames(root, file);
  if (holdsTensors(root)) return root;
  const found = usualKeys.filter((key) => {
    const value = root.items.get(key);
    return isDict(value) && holdsTensors(value);
  });
  const [key, ...more] = found;
  if (more.length > 0)
    throw unsupported(file, `it has tensors under ${found.join(' and ')}; which is meant is not clear`);
  const inner = key === undefined ? undefined : root.items.get(key);
  if (!isDict(inner))
    throw unsupported(
      file,
      `it holds no tensors at its top, nor under ${usualKeys.join(', ')} alone (a file of an optimizer, or of arguments, is no model)`,
    );
  checkNames(inner, file);
  return inner;
};

const holdsTensors = ({ items }: DictValue): boolean => [...items.values()].some(isTensor);

/** A state dict's keys are strings; an optimizer's may not be. */
const checkNames = ({ items }: DictValue, file: string): void => {
  if (![...items.keys()].every((key) => typeof key === 'string'))
    throw unsupported(file, 'it has a dictionary whose keys are no names of tensors');
};

/** Finds a tensor's bytes, which must be contiguous, among its zip's storages. */
export const place = (
  name: string,
  { storage, dtype, offset, shape, strides }: TensorValue,
  storages: ReadonlyMap<string, Extent>,
  file: string,
): TensorInFile => {
  const tensor = name;
  const wrong = (reason: string) => new LayerloomError('HEADER_INVALID', { file, tensor, reason });
  checkTensorName(name, file);
  const range = storages.get(storage.key);
  if (range === undefined) throw wrong(`its storage data/${short(storage.key)} is not in the zip`);
  const size = range.end - range.begin;
  const announced =
    storage.dtype === undefined ? storage.elements : byteLength(storage.dtype, storage.elements);
  if (announced !== size)
    throw wrong(`its storage data/${short(storage.key)} has ${size} bytes, and the pickle says ${announced}`);
  const elements = elementCount(shape);
  const bytes = elements === undefined ? undefined : byteLength(dtype, elements);
  const before = byteLength(dtype, offset);
  if (elements === undefined || bytes === undefined || before === undefined)
    throw new LayerloomError('SHAPE_OVERFLOW', { file, tensor, shape });
  if (elements > 0 && !isContiguous(shape, strides))
    throw unsupported(
      file,
      `is a view with strides [${strides.join(', ')}] for the shape [${shape.join(', ')}], whose elements do not lie one behind the other`,
      tensor,
    );
  if (before + bytes > size) throw wrong(`it goes beyond its storage of ${size} bytes`);
  return { dtype, shape, begin: range.begin + before, end: range.begin + before + bytes };
};

/** True for row-major contiguous elements; strides of dimensions of size 1 do not matter. */
const isContiguous = (shape: readonly number[], strides: readonly number[]): boolean => {
  let expected = 1;
  for (let dimension = shape.length - 1; dimension >= 0; dimension -= 1) {
    const extent = shape[dimension] ?? 1;
    if (extent !== 1 && strides[dimension] !== expected) return false;
    expected *= extent;
  }
  return true;
};
