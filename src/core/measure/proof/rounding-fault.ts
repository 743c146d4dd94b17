import type { Evidence } from './evidence.js';
import { counted, figure } from './faults/kind.js';
import type { Fault, ProvenTensor } from './proof.js';

/** Says how the tensors were rounded that differ only by roundings. */
export const roundingFault = async (
  evidence: Evidence,
  tensors: readonly ProvenTensor[],
): Promise<readonly Fault[]> => {
  const byDtype = new Map<string, ProvenTensor[]>();
  for (const tensor of tensors) {
    if (tensor.state !== 'rounding') continue;
    const grain = (await evidence.sampleOf(tensor.name))?.grain ?? [];
    const dtype = grain.at(-1) ?? 'F32';
    byDtype.set(dtype, [...(byDtype.get(dtype) ?? []), tensor]);
  }
  return [...byDtype].map(([dtype, rounded]) => {
    const elements = rounded.reduce((total, tensor) => total + tensor.elements, 0);
    const differing = rounded.reduce((total, tensor) => total + (tensor.differing ?? 0), 0);
    return {
      kind: 'rounding',
      tensors: rounded.map(({ name }) => name),
      figures: { dtype, differing, elements, share: figure(differing / Math.max(1, elements)) },
      sentence: `${counted(rounded.length, 'tensor')} differ by one rounding of ${dtype} at most, in ${differing} of ${elements} elements: computed in another order or dtype`,
    };
  });
};
