import { itemAt } from '../../../base/errors/lookup.js';
import { type Lowering, undefinedMerge } from '../../../methods/operations/program/lowering.js';
import type { BlockMultiplier } from '../../../models/adapters/kinds/multiplied.js';

type How = Omit<BlockMultiplier<unknown>, 'source' | 'by' | 'butterfly'>;

/** Returns transposed rotations [block][size, size] from skew-symmetric matrices. */
export const rotationsOf = (
  stored: Float64Array,
  { size, blocks, skew, terms, limit }: How,
  to: Pick<Lowering, 'tensor'>,
): Float64Array => {
  const each = stored.length / blocks;
  const rotations = new Float64Array(blocks * size * size);
  for (let block = 0; block < blocks; block += 1) {
    const q = skewOf(stored.subarray(block * each, (block + 1) * each), size, skew);
    if (limit !== null) shorten(q, limit / Math.sqrt(blocks));
    const rotation = terms === null ? cayley(q, size, to) : series(q, size, terms);
    const transposed = rotations.subarray(block * size * size);
    for (let row = 0; row < size; row += 1)
      for (let column = 0; column < size; column += 1)
        transposed[column * size + row] = itemAt(rotation, row * size + column);
  }
  return rotations;
};

const skewOf = (stored: Float64Array, size: number, skew: How['skew']): Float64Array => {
  const q = new Float64Array(size * size);
  let next = 0;
  for (let row = 0; row < size; row += 1)
    for (let column = row + 1; column < size; column += 1) {
      const number =
        skew === 'whole'
          ? (itemAt(stored, row * size + column) - itemAt(stored, column * size + row)) / 2
          : itemAt(stored, next++) * (skew === 'upper' ? 1 : -1);
      q[row * size + column] = number;
      q[column * size + row] = -number;
    }
  return q;
};

const shorten = (q: Float64Array, most: number): void => {
  let squares = 0;
  for (const number of q) squares += number * number;
  const norm = Math.sqrt(squares);
  if (norm <= most) return;
  for (const [index, number] of q.entries()) q[index] = (number / norm) * most;
};

const product = (a: Float64Array, b: Float64Array, size: number): Float64Array => {
  const sums = new Float64Array(size * size);
  for (let row = 0; row < size; row += 1)
    for (let k = 0; k < size; k += 1) {
      const by = itemAt(a, row * size + k);
      const [from, into] = [k * size, row * size];
      for (let column = 0; column < size; column += 1)
        sums[into + column] = itemAt(sums, into + column) + by * itemAt(b, from + column);
    }
  return sums;
};

/**
 * Returns I + 2Q + 2Q² + … + 2Qᵗ⁻² + Qᵗ⁻¹ for t = `terms`. As in PEFT, t = 3 counts as 4; t = 2 gives I + 2Q.
 */
const series = (q: Float64Array, size: number, terms: number): Float64Array => {
  const sum = new Float64Array(size * size);
  for (let row = 0; row < size; row += 1) sum[row * size + row] = 1;
  const add = (power: Float64Array, factor: number): void => {
    for (const [index, number] of power.entries()) sum[index] = itemAt(sum, index) + factor * number;
  };
  if (terms > 1) add(q, 2);
  if (terms <= 2) return sum;
  let power = product(q, q, size);
  add(power, 2);
  for (let term = 3; term < terms - 1; term += 1) {
    power = product(power, q, size);
    add(power, 2);
  }
  add(product(power, q, size), 1);
  return sum;
};

/** Solves X·(I + Q) = I − Q by elimination with partial pivoting. X also solves (I + Q)·X = I − Q. */
const cayley = (q: Float64Array, size: number, to: Pick<Lowering, 'tensor'>): Float64Array => {
  const [left, right] = [q.slice(), q.map((number) => -number)];
  for (let row = 0; row < size; row += 1) {
    left[row * size + row] = 1;
    right[row * size + row] = 1;
  }
  for (let pivot = 0; pivot < size; pivot += 1) {
    let best = pivot;
    for (let row = pivot + 1; row < size; row += 1)
      if (Math.abs(itemAt(left, row * size + pivot)) > Math.abs(itemAt(left, best * size + pivot)))
        best = row;
    swapRows(left, size, pivot, best);
    swapRows(right, size, pivot, best);
    const head = itemAt(left, pivot * size + pivot);
    if (!Number.isFinite(1 / head))
      throw undefinedMerge(to.tensor, 'OFT', 'its rotations cannot be computed from such large numbers');
    for (let row = pivot + 1; row < size; row += 1) {
      const factor = itemAt(left, row * size + pivot) / head;
      if (factor === 0) continue;
      subtractRow(left, size, row, pivot, factor);
      subtractRow(right, size, row, pivot, factor);
    }
  }
  for (let pivot = size - 1; pivot >= 0; pivot -= 1) {
    const head = itemAt(left, pivot * size + pivot);
    for (let column = 0; column < size; column += 1)
      right[pivot * size + column] = itemAt(right, pivot * size + column) / head;
    for (let row = 0; row < pivot; row += 1)
      subtractRow(right, size, row, pivot, itemAt(left, row * size + pivot));
  }
  return right;
};

const swapRows = (numbers: Float64Array, size: number, one: number, other: number): void => {
  if (one === other) return;
  const kept = numbers.slice(one * size, (one + 1) * size);
  numbers.copyWithin(one * size, other * size, (other + 1) * size);
  numbers.set(kept, other * size);
};

const subtractRow = (
  numbers: Float64Array,
  size: number,
  row: number,
  from: number,
  factor: number,
): void => {
  for (let column = 0; column < size; column += 1)
    numbers[row * size + column] =
      itemAt(numbers, row * size + column) - factor * itemAt(numbers, from * size + column);
};
