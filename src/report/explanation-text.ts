import { stringify } from 'yaml';
import type { Explanation } from '../plan/explanation.js';
import { visibleLine } from '../visible.js';
import { plainTable } from './table.js';

/** How one tensor of a merge comes about, for people. */
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
      ['is', words],
    ]),
    '',
    '  parameters',
    ...stringify(parameters, { flowCollectionPadding: false })
      .trimEnd()
      .split('\n')
      .map((line) => `    ${line}`),
  ].join('\n');
