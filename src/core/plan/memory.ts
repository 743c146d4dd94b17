import { lighterThan, threadBytesOf } from '../methods/operations/index.js';
import type { PlannedTensor } from './plan.js';

/** Private memory of Node in bytes, as measured by bench/memory.mjs. */
const nodeBytes = 27e6;

/** Private memory of a thread in bytes: heap, stack, one tile; measured likewise. */
const threadBytes = 9e6;

/** What the threads that make some tensors need. */
export interface MemoryNeed {
  /** Private memory of a thread in bytes, at the tensor that takes most. */
  readonly ofThread: number;
  /** That tensor, where it takes more than tiles, and what a recipe would use instead to take less. */
  readonly matrix?: { readonly tensor: string; readonly lighter: string };
}

/** Returns what a thread needs for the tensor that takes most. */
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

/** Returns the private memory of a run with so many threads, in bytes. */
export const memoryWith = ({ ofThread }: MemoryNeed, threads: number): number =>
  nodeBytes + threads * ofThread;
