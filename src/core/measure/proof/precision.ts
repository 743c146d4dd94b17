import type { Dtype } from '../../tensor/dtype.js';

interface Precision {
  readonly bits: number;
  readonly least: number;
  readonly largest: number;
}

const precisions: Partial<Readonly<Record<Dtype, Precision>>> = {
  F8_E5M2: { bits: 3, least: -14, largest: 57344 },
  F8_E4M3: { bits: 4, least: -6, largest: 448 },
  BF16: { bits: 8, least: -126, largest: 3.3895313892515355e38 },
  F16: { bits: 11, least: -14, largest: 65504 },
  F32: { bits: 24, least: -126, largest: 3.4028234663852886e38 },
};

const exact: Precision = { bits: 24, least: -126, largest: Number.POSITIVE_INFINITY };

export const precisionOf = (dtype: Dtype): Precision => precisions[dtype] ?? exact;

export const coarser = (a: Dtype, b: Dtype): Dtype => (precisionOf(a).bits <= precisionOf(b).bits ? a : b);

const word = new Float32Array(1);
const bitsOfWord = new Uint32Array(word.buffer);

/** Returns a float32 number's exponent ⌊log2 |x|⌋, at least −127. */
export const exponentOf = (x: number): number => {
  word[0] = x;
  return (((bitsOfWord[0] ?? 0) >>> 23) & 0xff) - 127;
};

export const unitAt = (x: number, dtype: Dtype): number => {
  const { bits, least } = precisionOf(dtype);
  return 2 ** (Math.max(exponentOf(x), least) - (bits - 1));
};

/** True for dtypes with larger roundings than float32 sums. */
export const isShortDtype = (dtype: Dtype): boolean => precisionOf(dtype).bits < 24;

/** Rounds to the nearest number of a dtype, ties to even; beyond its range, to infinity. */
export const rounded = (x: number, dtype: Dtype): number => {
  if (!Number.isFinite(x) || x === 0) return x;
  const { bits, largest } = precisionOf(dtype);
  if (bits >= 24) return Math.fround(x);
  const unit = unitAt(x, dtype);
  const scaled = x / unit;
  const floor = Math.floor(scaled);
  const rest = scaled - floor;
  const up = rest > 0.5 || (rest === 0.5 && floor % 2 !== 0);
  const result = (up ? floor + 1 : floor) * unit;
  if (Math.abs(result) > largest) return Math.sign(x) * Number.POSITIVE_INFINITY;
  return result;
};

/** Rounds towards zero to a number of the dtype; keeps NaN and infinity. */
export const truncated = (x: number, dtype: Dtype): number => {
  if (!Number.isFinite(x) || x === 0 || !isShortDtype(dtype)) return x;
  const unit = unitAt(x, dtype);
  return Math.trunc(x / unit) * unit;
};

/** True if the dtype holds all numbers exactly. */
export const isOfDtype = (values: Float32Array, dtype: Dtype): boolean =>
  values.every((value) => Number.isNaN(value) || rounded(value, dtype) === value);
