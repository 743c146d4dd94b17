import { stringify } from 'yaml';
import type { Explanation } from '../plan/explanation.js';
import { visibleLine } from '../visible.js';
import { plainTable } from './table.js';

/** Formats for the terminal how one tensor of a merge is computed. */
export const describeExplanation = ({
  tensor,
  layer,
  dtype,
  shape,
  parameters,
  words,
}: Explanation): string =>
  [
    visibleLine(tensor),
    '',
    plainTable([
      ['layer', layer === null ? 'outside the layers' : String(layer)],
      ['shape', `[${shape.join(', ')}] ${dtype}`],
      ['formula', words],
    ]),
    '',
    '  parameters',
    ...stringify(parameters, { flowCollectionPadding: false })
      .trimEnd()
      .split('\n')
      .map((line) => `    ${line}`),
  ].join('\n');
