import { lighterThan, threadBytesOf } from '../../methods/operations/index.js';
import type { PlannedTensor } from '../plan.js';

/** Private bytes of Node, measured by bench/memory.mjs. */
const nodeBytes = 27e6;

/** Private bytes of a thread (heap, stack, one tile), measured by bench/memory.mjs. */
const threadBytes = 9e6;

export interface MemoryNeed {
  /** Bytes a thread, for the most demanding tensor. */
  readonly ofThread: number;
  /** That tensor, if it needs more than tiles, and a lighter option. */
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

/** Returns the private memory of a run, in bytes. */
export const memoryWith = ({ ofThread }: MemoryNeed, threads: number): number =>
  nodeBytes + threads * ofThread;
