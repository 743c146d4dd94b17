import type { Evidence } from './evidence.js';
import { faultKinds } from './faults/index.js';
import { counted, listed } from './faults/kind.js';
import type { Fault } from './proof.js';
import { OutsideSampleError } from './sample/sampled-bytes.js';

/**
 * Asks each kind of fault in turn which of the remaining tensors it explains.
 *
 * @returns faults, by falling number of tensors; `unexplained` for the rest
 */
export const explain = async (evidence: Evidence, wrong: readonly string[]): Promise<readonly Fault[]> => {
  const faults: Fault[] = [];
  let left = wrong;
  for (const { kind, find } of faultKinds) {
    if (left.length === 0) break;
    const found = await unlessOutside(find(evidence, left));
    if (found === undefined || found.tensors.length === 0) continue;
    faults.push({ kind, ...found });
    const explained = new Set(found.tensors);
    left = left.filter((name) => !explained.has(name));
  }
  if (left.length > 0) faults.push(unexplained(evidence, left));
  return faults.toSorted((a, b) => b.tensors.length - a.tensors.length);
};

/** Returns undefined if the search needs bytes outside the sample. */
const unlessOutside = async <T>(found: Promise<T>): Promise<T | undefined> => {
  try {
    return await found;
  } catch (error) {
    if (error instanceof OutsideSampleError) return undefined;
    throw error;
  }
};

const unexplained = ({ tensors, isSample }: Evidence, names: readonly string[]): Fault => {
  const wrong = new Set(names);
  const relative = tensors.flatMap((tensor) => (wrong.has(tensor.name) ? (tensor.relative ?? []) : []));
  const largest = relative.reduce((most, value) => Math.max(most, value), 0);
  return {
    kind: 'unexplained',
    tensors: names,
    figures: { tensors: names.length, largestRelative: largest },
    sentence: `${counted(names.length, 'tensor')} ${names.length === 1 ? 'differs' : 'differ'} by up to ${(100 * largest).toPrecision(3)} % of their norm, and no known fault explains it${isSample ? ' from a sample' : ''}: ${listed(names)}`,
  };
};
