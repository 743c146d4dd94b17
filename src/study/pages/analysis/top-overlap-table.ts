import { visibleLine } from '../../../core/base/errors/visible.js';
import type { TopOverlap } from '../../../core/measure/analysis/advice/top-overlap.js';
import { encodeCsv } from '../encode-csv.js';

const fields = 'expert other_expert top_share layer rows in_both shared chance'.split(' ');

/** Formats top overlaps as CSV: for each pair, a line per layer, then a line for all layers. */
export const encodeTopOverlaps = (overlaps: readonly TopOverlap[]): string => {
  const rows = overlaps.flatMap(({ experts: [expert, other], topShare, parts, whole }) =>
    [...parts, whole].map(({ layer, rows, inBoth, shared, chance }) => [
      ...[visibleLine(expert), visibleLine(other), topShare, layer ?? 'all'],
      ...[rows, inBoth, shared ?? '', chance ?? ''],
    ]),
  );
  return `${encodeCsv(fields, rows)}\n`;
};
