import { valueAt } from '../base/errors/lookup.js';

/** Bits of each safetensors dtype. The safetensors library writes tensors of later dtypes first. */
const bits = {
  BOOL: 8,
  F4: 4,
  F6_E2M3: 6,
  F6_E3M2: 6,
  U8: 8,
  I8: 8,
  F8_E5M2: 8,
  F8_E4M3: 8,
  F8_E8M0: 8,
  F8_E4M3FNUZ: 8,
  F8_E5M2FNUZ: 8,
  I16: 16,
  U16: 16,
  F16: 16,
  BF16: 16,
  I32: 32,
  U32: 32,
  F32: 32,
  C64: 64,
  F64: 64,
  I64: 64,
  U64: 64,
} as const;

/** A safetensors dtype, by its name in headers. */
export type Dtype = keyof typeof bits;

const order = new Map(Object.keys(bits).map((name, index) => [name as Dtype, index]));

export const arithmeticDtypes = [
  'BF16',
  'F16',
  'F32',
  'F64',
  'F8_E4M3',
  'F8_E5M2',
] as const satisfies readonly Dtype[];

/** A dtype that kernels compute in. */
export type ArithmeticDtype = (typeof arithmeticDtypes)[number];

export const isDtype = (name: unknown): name is Dtype =>
  typeof name === 'string' && Object.hasOwn(bits, name);

export const bitsOf = (dtype: Dtype): number => bits[dtype];

/** True for floating-point dtypes, which may be averaged, and may differ between models. */
export const isFloating = (dtype: Dtype): dtype is ArithmeticDtype =>
  (arithmeticDtypes as readonly Dtype[]).includes(dtype);

/**
 * Returns an arithmetic dtype of equal size, for programs that only move elements.
 *
 * @throws RangeError for elements smaller than a byte
 */
export const arithmeticOf = (dtype: Dtype): ArithmeticDtype => {
  if (isFloating(dtype)) return dtype;
  const same = (['F8_E4M3', 'BF16', 'F32', 'F64'] as const).find((other) => bits[other] === bits[dtype]);
  if (same === undefined) throw new RangeError(`elements of ${dtype} are no whole bytes`);
  return same;
};

/** Sorts dtypes as the safetensors library orders tensors: negative if `a` comes first. */
export const compareDtypes = (a: Dtype, b: Dtype): number => valueAt(order, b) - valueAt(order, a);

/** Names of floating-point dtypes for `--dtype`; the first is torch's, as in `config.json`. */
const names = {
  BF16: ['bfloat16', 'bf16'],
  F16: ['float16', 'fp16', 'f16', 'half'],
  F32: ['float32', 'fp32', 'f32', 'float'],
  F64: ['float64', 'fp64', 'f64', 'double'],
  F8_E4M3: ['float8_e4m3fn', 'float8_e4m3', 'fp8_e4m3', 'f8_e4m3'],
  F8_E5M2: ['float8_e5m2', 'fp8_e5m2', 'f8_e5m2'],
} as const satisfies Record<ArithmeticDtype, readonly [string, ...string[]]>;

type Name = (typeof names)[ArithmeticDtype][number];

/** Spellings of a floating-point dtype: `bfloat16`, `bf16`, `torch.bfloat16`, or safetensors' `BF16`. */
export type DtypeName = Name | Uppercase<Name> | `torch.${Name}`;

export const dtypeNames: readonly string[] = Object.values(names).flat();

export const torchName = (dtype: ArithmeticDtype): DtypeName => names[dtype][0];

export const parseDtype = (name: string): ArithmeticDtype | undefined => {
  const wanted = name.toLowerCase().replace(/^torch\./, '');
  return arithmeticDtypes.find((dtype) => (names[dtype] as readonly string[]).includes(wanted));
};
