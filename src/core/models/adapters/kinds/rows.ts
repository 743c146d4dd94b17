import type { TensorReference } from '../../../tensor/reference.js';
import type { RowRun } from '../../tokenizer/vocabulary.js';

/** W with rows [to, to + count) from rows [from, from + count) of `tensor`, rounded to W's dtype. */
export interface RowsChange {
  readonly kind: 'rows';
  /** Ascending by `to`, disjoint. */
  readonly rows: readonly RowRun[];
  readonly tensor: TensorReference;
}
