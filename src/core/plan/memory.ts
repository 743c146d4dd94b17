import { lighterThan, threadBytesOf } from '../methods/operations/index.js';
import type { PlannedTensor } from './plan.js';

/** Private memory of Node in bytes, measured by bench/memory.mjs. */
const nodeBytes = 27e6;

/** Private memory of a thread in bytes (heap, stack, one tile), measured by bench/memory.mjs. */
const threadBytes = 9e6;

/** Memory that threads need to make some tensors. */
export interface MemoryNeed {
  /** Bytes a thread, for the most demanding tensor. */
  readonly ofThread: number;
  /** That tensor, if it needs more than tiles, and a lighter option for the recipe. */
  readonly matrix?: { readonly tensor: string; readonly lighter: string };
}

/** Returns a thread's need for the most demanding tensor. */
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

/** Returns the private memory of a run with `threads` threads, in bytes. */
export const memoryWith = ({ ofThread }: MemoryNeed, threads: number): number =>
  nodeBytes + threads * ofThread;
