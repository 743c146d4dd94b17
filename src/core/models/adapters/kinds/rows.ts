import type { TensorReference } from '../../../tensor/reference.js';
import type { RowRun } from '../../tokenizer/vocabulary.js';

/** W, in which rows [to, to + count) are rows [from, from + count) of `tensor`, rounded to W's dtype. */
export interface RowsChange {
  readonly kind: 'rows';
  /** Rows in ascending order of `to`, disjoint. */
  readonly rows: readonly RowRun[];
  readonly tensor: TensorReference;
}
