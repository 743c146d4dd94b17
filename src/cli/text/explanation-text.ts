import { stringify } from 'yaml';
import { visibleLine } from '../../core/base/errors/visible.js';
import { plainTable } from '../../core/base/table.js';
import { decimals } from '../../core/methods/operations/program/words.js';
import type { Explanation } from '../../core/plan/compile/explanation.js';

const rounded = (_key: unknown, value: unknown): unknown =>
  typeof value === 'number' && !Number.isInteger(value) ? Number(decimals(value)) : value;

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
    ...stringify(parameters, rounded, { flowCollectionPadding: false })
      .trimEnd()
      .split('\n')
      .map((line) => `    ${line}`),
  ].join('\n');
