import { LayerloomError } from '../../../../base/errors/errors.js';
import { isCount } from '../../../../base/is-count.js';
import type { Dtype } from '../../../../tensor/dtype.js';
import { short } from '../short-name.js';
import { invalidTorchFile, isOfRank, unsupported } from './refusals.js';
import { emptyDict, globalName, isTensor, type StorageValue, tupleItems, type Value } from './values.js';

const storages: Readonly<Record<string, Dtype>> = {
  DoubleStorage: 'F64',
  FloatStorage: 'F32',
  HalfStorage: 'F16',
  BFloat16Storage: 'BF16',
  LongStorage: 'I64',
  IntStorage: 'I32',
  ShortStorage: 'I16',
  CharStorage: 'I8',
  ByteStorage: 'U8',
  BoolStorage: 'BOOL',
};

const dtypes: Readonly<Record<string, Dtype>> = {
  float8_e4m3fn: 'F8_E4M3',
  float8_e5m2: 'F8_E5M2',
  float8_e4m3fnuz: 'F8_E4M3FNUZ',
  float8_e5m2fnuz: 'F8_E5M2FNUZ',
  float8_e8m0fnu: 'F8_E8M0',
  uint16: 'U16',
  uint32: 'U32',
  uint64: 'U64',
  float64: 'F64',
  float32: 'F32',
  float16: 'F16',
  bfloat16: 'BF16',
  int64: 'I64',
  int32: 'I32',
  int16: 'I16',
  int8: 'I8',
  uint8: 'U8',
  bool: 'BOOL',
};

/** Returns the dtype that a global names, such as `torch.bfloat16`. */
export const dtypeOfGlobal = (name: string | undefined): Dtype | undefined =>
  own(dtypes, dtypeName.exec(name ?? '')?.[1]);

const ofSubclass = 'torch._tensor._rebuild_from_type_v2';

const untyped = 'torch.storage.UntypedStorage';
const storageName = /^torch\.(?:cuda\.)?(\w+Storage)$/;
const dtypeName = /^torch\.(\w+)$/;

const own = <T>(table: Readonly<Record<string, T>>, name: string | undefined): T | undefined =>
  name !== undefined && Object.hasOwn(table, name) ? table[name] : undefined;

/** Functions that build the results of calls in the pickle, by the called name. */
const builders: Readonly<Record<string, (args: readonly Value[], file: string) => Value>> = {
  'collections.OrderedDict': (args, file) => {
    if (args.length > 0) throw unsupported(file, 'its pickle builds an OrderedDict as PyTorch does not');
    return emptyDict();
  },
  'torch._utils._rebuild_tensor_v2': (args, file) => {
    const [storage, offset, shape, strides, , , metadata] = args;
    if (args.length < 6 || args.length > 7) throw odd(file);
    return view(storage, undefined, { offset, shape, strides, metadata }, file);
  },
  'torch._utils._rebuild_tensor_v3': (args, file) => {
    const [storage, offset, shape, strides, , , dtype, metadata] = args;
    if (args.length < 7 || args.length > 8) throw odd(file);
    const name = globalName(dtype);
    const known = dtypeOfGlobal(name);
    if (known === undefined) throw unsupported(file, `it has tensors of dtype ${short(name ?? 'unknown')}`);
    return view(storage, known, { offset, shape, strides, metadata }, file);
  },
  'torch._utils._rebuild_parameter': ([data], file) => {
    if (!isTensor(data)) throw odd(file);
    return data;
  },
};

const odd = (file: string): LayerloomError =>
  invalidTorchFile(file, 'its pickle builds a tensor as PyTorch does not');

/**
 * Returns the value for a global in the pickle, if it describes tensors. Refuses all other globals, which executing the
 * pickle would import and call.
 *
 * @throws PICKLE_RUNS_CODE; WEIGHTS_UNSUPPORTED for storages of other dtypes
 */
export const takeGlobal = (name: string, file: string): Value => {
  const storage = storageName.exec(name)?.[1];
  const isKnown =
    Object.hasOwn(builders, name) ||
    name === untyped ||
    own(storages, storage) !== undefined ||
    dtypeOfGlobal(name) !== undefined;
  if (isKnown) return { kind: 'global', name };
  if (storage !== undefined) throw unsupported(file, `it has storages of type ${short(name)}`);
  if (isOfRank(file) && name === ofSubclass) throw unsupported(file, 'it holds parts of tensors (DTensor)');
  throw new LayerloomError('PICKLE_RUNS_CODE', { file, calls: short(name) });
};

/**
 * Builds the result of calling a known global.
 *
 * @throws HEADER_INVALID, WEIGHTS_UNSUPPORTED
 */
export const build = (callee: Value | undefined, args: Value | undefined, file: string): Value => {
  const name = globalName(callee);
  const builder = own(builders, name);
  const items = tupleItems(args);
  if (builder === undefined || items === undefined)
    throw invalidTorchFile(
      file,
      `its pickle calls ${name === undefined ? 'what is no function' : short(name)}`,
    );
  return builder(items, file);
};

/**
 * Parses a reference to a storage, which the pickle holds as a tuple.
 *
 * @throws HEADER_INVALID
 */
export const takeStorage = (id: Value | undefined, file: string): StorageValue => {
  const items = tupleItems(id) ?? [];
  const [kind, type, key, , elements] = items;
  const name = globalName(type);
  const dtype = own(storages, storageName.exec(name ?? '')?.[1]);
  if (
    kind !== 'storage' ||
    (dtype === undefined && name !== untyped) ||
    typeof key !== 'string' ||
    !isCount(elements) ||
    items.length > 5
  )
    throw invalidTorchFile(file, 'its pickle refers to a storage as PyTorch does not');
  return { kind: 'storage', key, dtype, elements };
};

/** torch's own limit. */
const mostDimensions = 64;

/** Checks the length first, because many tensors may refer to one long tuple. */
const counts = (value: Value | undefined): readonly number[] | undefined => {
  const items = tupleItems(value);
  return items !== undefined && items.length <= mostDimensions && items.every(isCount) ? items : undefined;
};

interface ViewArguments {
  readonly offset: Value | undefined;
  readonly shape: Value | undefined;
  readonly strides: Value | undefined;
  readonly metadata: Value | undefined;
}

const view = (
  storage: Value | undefined,
  said: Dtype | undefined,
  { offset, shape, strides, metadata }: ViewArguments,
  file: string,
): Value => {
  if (typeof storage !== 'object' || storage?.kind !== 'storage') throw odd(file);
  const dtype = said ?? storage.dtype;
  const [extents, steps] = [counts(shape), counts(strides)];
  if (dtype === undefined || !isCount(offset) || extents === undefined || extents.length !== steps?.length)
    throw odd(file);
  // The metadata marks conjugated or negated values.
  const hasBits = metadata !== undefined && metadata !== null && !isEmptyDict(metadata);
  if (hasBits) throw unsupported(file, 'it has tensors whose bits are not their values (conj, neg)');
  return { kind: 'tensor', storage, dtype, offset, shape: extents, strides: steps };
};

const isEmptyDict = (value: Value): boolean =>
  typeof value === 'object' && value?.kind === 'dict' && value.items.size === 0;
