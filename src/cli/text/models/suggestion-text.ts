import type { Suggestion } from '../../../api/suggest.js';
import { formatPercent as percent } from '../../../core/base/format.js';
import { plainTable } from '../../../core/base/table.js';
import { wrap } from '../../../core/base/wrap.js';
import type { SwappedChange } from '../../../core/measure/analysis/advice/suggestion.js';
import { paperCounts, paperLayers } from '../../../core/methods/framework/counts.js';
import { sides } from '../../../core/methods/framework/part-names.js';
import { showNumber } from '../../../study/pages/components/data/numbers.js';
import { textWidth } from '../../print.js';

const paragraph = (text: string): string[] => ['', ...wrap(text, textWidth())];

const shares = ({ kept, dropped, halved }: SwappedChange): string[] => [kept, dropped, halved].map(percent);

/** Warns if the suggested layers were measured, and omit most of the language expert's change. */
const inTheMiddle = ({ layers, bottom, top, undecided, swaps: [swap], language }: Suggestion): string[] => {
  if (swap === undefined || undecided.length > 0) return [];
  const { kept, dropped } = swap.language;
  if (kept > ((bottom + top) / layers) * (kept + dropped)) return [];
  return paragraph(
    `The swap keeps no more of ${language.name}'s change than an even spread would: most of it lies in the middle. Compare with a soup.`,
  );
};

export const describeSuggestion = (suggestion: Suggestion): string => {
  const { task, language, layers, bottom, top, undecided, reasons, largest, swaps, command } = suggestion;
  const experts = sides.toReversed().map((side) => {
    const { layers: set, share } = largest[side];
    return [
      suggestion[side].name,
      showNumber(suggestion[side].meanMav),
      set === ''
        ? 'no layer stands out'
        : `${/^\d+$/.test(set) ? 'layer' : 'layers'} ${set} (${percent(share)})`,
    ];
  });
  const scaled =
    layers === paperLayers
      ? ''
      : `; for the suggestion, these numbers are scaled to ${layers} layers (our rule, not the paper's)`;
  return [
    plainTable([['expert', 'mean MAV', 'largest changes'], ...experts], 1, textWidth()),
    ...(undecided.length === 0
      ? []
      : paragraph(`The measurements are not conclusive: ${undecided.join('; and ')}.`)),
    ...paragraph(
      `Suggested: bottom ${bottom} and top ${top} from ${language.name}, the others from ${task.name}`,
    ),
    ...[
      `bottom ${bottom}: ${reasons.bottom}`,
      `top ${top}: ${reasons.top}`,
      'no transition layers: the paper found no significant gain from them',
    ].flatMap((line) => wrap(line, textWidth() - 2).map((part) => `  ${part}`)),
    ...inTheMiddle(suggestion),
    ...paragraph(
      `The paper (arXiv 2410.01335, §4.2) chooses by scores. It swaps ${paperCounts.bottom} and ${paperCounts.top} of ${paperLayers} layers by default, and found 3 to 5 and 0 to 2 effective${scaled}.`,
    ),
    ...paragraph(
      `Swaps to score, with the shares that they keep, drop and halve of the changes of ${task.name} (task) and ${language.name} (language):`,
    ),
    '',
    plainTable(
      [
        ['bottom', 'top', 'task keeps', 'drops', 'halves', 'language keeps', 'drops', 'halves'],
        ...swaps.map((swap) => [
          ...[String(swap.bottom), String(swap.top)],
          ...[...shares(swap.task), ...shares(swap.language)],
        ]),
      ],
      0,
      textWidth(),
    ),
    '',
    command,
  ].join('\n');
};
