import type { TensorReference } from '../../../tensor/reference.js';
import type { AdapterKind } from './kind.js';
import type { LowRankChange } from './lora.js';

/**
 * m·(W + s·B·A) / ‖W + s·B·A‖, with one norm and one m per output (arXiv 2402.09353, equation 5).
 */
export interface DoraChange extends Omit<LowRankChange, 'kind'> {
  readonly kind: 'dora';
  /** m: [out]. */
  readonly magnitudes: TensorReference;
}

export const dora: AdapterKind<DoraChange> = {
  key: 'use_dora',
  beside: 'lora_magnitude_vector',
  noSum: 'divides by norms of the base with the adapter (DoRA)',
  change: ({ a, b, rank, scale, transposed, beside }) => {
    if (beside === undefined) throw new Error('a DoRA adapter was read without its magnitudes');
    return { kind: 'dora', a, b, rank, scale, transposed, magnitudes: beside };
  },
};
