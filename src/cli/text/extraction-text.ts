import { groupBy } from '../../core/base/errors/lookup.js';
import { counted, formatBytes, formatSeconds, formatPercent as percent } from '../../core/base/format.js';
import { plainTable } from '../../core/base/table.js';
import type { ExtractedTensor, ExtractionResult } from '../../core/measure/extraction/extraction.js';
import { errorOf, rangeOf } from './truncated-text.js';

export const describeExtraction = (result: ExtractionResult): string => {
  const { tensors, saved, unchanged, leftOut, base, expert, error, kept } = result;
  const table = [['layer', 'rank', 'error', 'attention', 'MLP', 'energy kept']];
  const byLayer = [...groupBy(tensors, (tensor) => tensor.layer ?? Number.POSITIVE_INFINITY)];
  for (const [layer, ofLayer] of byLayer.sort(([a], [b]) => a - b))
    table.push([
      layer === Number.POSITIVE_INFINITY ? 'outside' : String(layer),
      ranksOf(ofLayer),
      ...[ofLayer, withRole(ofLayer, 'attention'), withRole(ofLayer, 'feedForward')].map((of) =>
        of.length === 0 ? '–' : percent(errorOf(of)),
      ),
      percent(1 - errorOf(ofLayer) ** 2),
    ]);
  const count = (names: readonly unknown[], what: string) =>
    names.length === 0 ? [] : [`${counted(names.length, 'tensor')} ${what}`];
  return [
    `LoRA adapter of ${expert} from ${base}: ${counted(tensors.length, 'matrix', 'matrices')}, rank ${ranksOf(tensors)}; errors are ‖Δ − B·A‖ / ‖Δ‖`,
    '',
    plainTable(table, 1),
    '',
    `error ${percent(error)} over these matrices; ${percent(kept)} of the whole model's ‖Δ‖² is kept`,
    ...count(saved, 'saved whole'),
    ...count(unchanged, 'unchanged, not extracted'),
    ...count(leftOut, 'changed, but not extracted'),
    '',
    result.out,
    `${formatBytes(result.bytes)} written, ${formatBytes(result.bytesRead)} read in ${formatSeconds(result.seconds)}`,
  ].join('\n');
};

const withRole = (tensors: readonly ExtractedTensor[], role: ExtractedTensor['role']): ExtractedTensor[] =>
  tensors.filter((tensor) => tensor.role === role);

const ranksOf = (tensors: readonly ExtractedTensor[]): string => rangeOf(tensors.map(({ rank }) => rank));
