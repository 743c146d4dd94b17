import { itemAt } from '../../../base/errors/lookup.js';
import type { Counted } from './measurer.js';

/** Sums histograms over equal windows; in float64, because more than 2³² elements may be equal. */
export class CountSums {
  readonly above: number[];
  readonly counts: readonly Float64Array[];
  elements = 0;

  constructor(values: number, bins: number) {
    this.above = Array.from({ length: values }, () => 0);
    this.counts = this.above.map(() => new Float64Array(bins));
  }

  add({ above, counts, elements }: Pick<Counted, 'above' | 'counts' | 'elements'>): void {
    this.elements += elements;
    for (const [value, sum] of this.counts.entries()) {
      this.above[value] = itemAt(this.above, value) + itemAt(above, value);
      // Skips empty bins, which are the majority.
      for (const [bin, count] of itemAt(counts, value).entries())
        if (count !== 0) sum[bin] = (sum[bin] ?? 0) + count;
    }
  }
}
