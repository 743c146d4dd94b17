import { counted, formatPercent as percent } from '../../../core/base/format.js';
import { plainTable } from '../../../core/base/table.js';
import type { QuantisedOutput } from '../../../core/engine/output/record/kept-changes.js';
import { isLost, type KeptChange } from '../../../core/methods/operations/quantised/kept-change.js';

const row = (name: string, { share, cosine }: KeptChange): string[] => [
  name,
  share === null ? 'unchanged' : percent(share),
  cosine === null ? '' : cosine.toFixed(3),
];

export const describeQuantised = ({ scheme, layers, all }: QuantisedOutput): string =>
  [
    plainTable(
      [
        ['layer', 'norm left', 'cosine'],
        ...layers.map((layer) => row(String(layer.layer), layer)),
        row('all', all),
      ],
      1,
    ),
    '',
    `change from the base after quantising both to ${scheme}: its norm as a share of the original norm (above 100 %, rounding adds more), and its cosine with the original change`,
  ].join('\n');

export const warningsOfQuantised = ({ scheme, layers, all }: QuantisedOutput): string[] => {
  const lost = layers.filter(isLost);
  if (lost.length === 0 && !isLost(all)) return [];
  const which =
    lost.length === layers.length ? 'every layer' : `${lost.length} of ${counted(layers.length, 'layer')}`;
  return [
    `in ${scheme} less than half of the change survives in ${which} (norm or cosine below one half): the quantised model may have lost what the model learnt`,
  ];
};
