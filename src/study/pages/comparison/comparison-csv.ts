import Papa from 'papaparse';
import { visibleLine } from '../../../core/base/errors/visible.js';
import type { Comparison, TensorComparison } from '../../../core/measure/comparison/comparison.js';

const fields = [
  'tensor',
  'layer',
  'module',
  'state',
  'dtype_a',
  'dtype_b',
  'shape_a',
  'shape_b',
  'elements',
  'differing',
  'differing_bits',
  'non_finite',
  'max',
  'mean',
  'rms',
  'relative',
  'first',
] as const;

type Line = Readonly<Record<(typeof fields)[number], string | number | null | undefined>>;

/** Formats a comparison as CSV: a line per tensor, numbers unrounded. */
export const comparisonCsv = ({ tensors }: Comparison): string =>
  Papa.unparse(
    {
      fields: [...fields],
      data: tensors.map((tensor) => {
        const line = lineOf(tensor);
        return fields.map((field) => line[field] ?? '');
      }),
    },
    // A spreadsheet would run a name beginning with = as a formula.
    { newline: '\n', escapeFormulae: true },
  );

const lineOf = ({ name, layer, module, state, a, b, elements, difference }: TensorComparison): Line => ({
  tensor: visibleLine(name),
  layer,
  module: visibleLine(module),
  state,
  dtype_a: a?.dtype,
  dtype_b: b?.dtype,
  shape_a: a?.shape.join(' '),
  shape_b: b?.shape.join(' '),
  elements,
  differing: difference?.differing,
  differing_bits: difference?.differingBits,
  non_finite: difference?.nonFinite,
  max: difference?.max,
  mean: difference?.mean,
  rms: difference?.rms,
  relative: difference?.relative,
  first: difference?.first.index,
});
