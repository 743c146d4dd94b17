import { lighterThan, threadBytesOf } from '../../methods/operations/index.js';
import type { PlannedTensor } from '../plan.js';

/** Bytes of Node itself (bench/memory.mjs). */
const nodeBytes = 27e6;

/** Bytes per thread: heap, stack and a tile (bench/memory.mjs). */
const threadBytes = 9e6;

export interface MemoryNeed {
  readonly ofThread: number;
  /** The tensor that needs most memory, and an option with which it needs less. */
  readonly matrix?: { readonly tensor: string; readonly lighter: string };
}

export const memoryOf = (
  tensors: Iterable<Pick<PlannedTensor, 'name' | 'expression' | 'shape'>>,
): MemoryNeed => {
  let most: MemoryNeed = { ofThread: threadBytes };
  for (const { name, expression, shape } of tensors) {
    const ofThread = threadBytes + threadBytesOf(expression, shape);
    const lighter = lighterThan(expression);
    if (ofThread > most.ofThread && lighter !== undefined)
      most = { ofThread, matrix: { tensor: name, lighter } };
  }
  return most;
};

/** Returns a run's private memory in bytes. */
export const memoryWith = ({ ofThread }: MemoryNeed, threads: number): number =>
  nodeBytes + threads * ofThread;
