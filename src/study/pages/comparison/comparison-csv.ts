import { visibleLine } from '../../../core/base/errors/visible.js';
import type { Comparison, TensorComparison } from '../../../core/measure/comparison/comparison.js';
import { encodeCsv } from '../encode-csv.js';

const columns: Readonly<Record<string, (of: TensorComparison) => string | number | null | undefined>> = {
  tensor: ({ name }) => visibleLine(name),
  layer: ({ layer }) => layer,
  module: ({ module }) => visibleLine(module),
  state: ({ state }) => state,
  dtype_a: ({ a }) => a?.dtype,
  dtype_b: ({ b }) => b?.dtype,
  shape_a: ({ a }) => a?.shape.join(' '),
  shape_b: ({ b }) => b?.shape.join(' '),
  elements: ({ elements }) => elements,
  differing: ({ difference }) => difference?.differing,
  differing_bits: ({ difference }) => difference?.differingBits,
  non_finite: ({ difference }) => difference?.nonFinite,
  max: ({ difference }) => difference?.max,
  mean: ({ difference }) => difference?.mean,
  rms: ({ difference }) => difference?.rms,
  relative: ({ difference }) => difference?.relative,
  first: ({ difference }) => difference?.first.index,
};

/** Formats a comparison as CSV: a line per tensor, numbers unrounded. */
export const comparisonCsv = ({ tensors }: Comparison): string =>
  encodeCsv(
    Object.keys(columns),
    tensors.map((tensor) => Object.values(columns).map((read) => read(tensor) ?? '')),
  );
