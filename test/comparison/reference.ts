import { decode, type Floating } from '../fixtures/numbers.js';

// An independent comparison of two tensors, element by element in JavaScript.

const isSame = (a: number, b: number): boolean => a === b || (Number.isNaN(a) && Number.isNaN(b));

export const differencesOf = (
  [dtypeA, bytesA]: readonly [Floating, Uint8Array],
  [dtypeB, bytesB]: readonly [Floating, Uint8Array],
) => {
  const [a, b] = [decode(dtypeA, bytesA), decode(dtypeB, bytesB)];
  const width = bytesA.length / a.length;
  const bitsDiffer = (i: number): boolean =>
    Buffer.compare(
      bytesA.subarray(i * width, (i + 1) * width),
      bytesB.subarray(i * width, (i + 1) * width),
    ) !== 0;
  let [differing, otherBits, nonFinite, max, absolute, squares, norm] = [0, 0, 0, 0, 0, 0, 0];
  let first = -1;
  for (const [i, x] of a.entries()) {
    const y = b[i] ?? Number.NaN;
    const differs = !isSame(x, y);
    if (differs) differing += 1;
    if (dtypeA === dtypeB && bitsDiffer(i)) otherBits += 1;
    if (first === -1 && (dtypeA === dtypeB ? bitsDiffer(i) : differs)) first = i;
    const difference = Math.abs(x - y);
    if (!Number.isFinite(x) || !Number.isFinite(y) || !Number.isFinite(difference)) {
      nonFinite += 1;
      continue;
    }
    max = Math.max(max, difference);
    absolute += difference;
    squares += difference * difference;
    norm += x * x;
  }
  const finite = a.length - nonFinite;
  return {
    differing,
    differingBits: dtypeA === dtypeB ? otherBits : null,
    nonFinite,
    max,
    mean: absolute / finite,
    rms: Math.sqrt(squares / finite),
    relative: Math.sqrt(squares) / Math.sqrt(norm),
    first,
  };
};
