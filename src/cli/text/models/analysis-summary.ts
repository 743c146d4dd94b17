import { itemAt } from '../../../core/base/errors/lookup.js';
import { counted, formatBytes, formatSeconds, formatPercent as percent } from '../../../core/base/format.js';
import { plainTable } from '../../../core/base/table.js';
import { wrap } from '../../../core/base/wrap.js';
import type { Overlap } from '../../../core/measure/analysis/overlap.js';
import type { AnalysisResult } from '../../../study/pages/analysis/write-analysis.js';
import {
  showNumber,
  percent as showShare,
  showThresholds,
} from '../../../study/pages/components/data/numbers.js';
import { textWidth } from '../../print.js';

const mostInDetail = 3;

const mostExperts = 3;

export const describeAnalysis = (result: AnalysisResult, bottom: number, top: number): string => {
  const { experts, shares, overlaps, out, bytesRead, seconds } = result;
  const first = itemAt(experts, 0);
  const table = [
    [
      'expert',
      'mean MAV',
      '1 / mean MAV',
      'rows above',
      `first ${bottom}`,
      'middle',
      `last ${top}`,
      'outside',
    ],
  ];
  for (const [index, { name, meanMav, inverseMav, tensors }] of experts.entries()) {
    const all = Object.values(tensors);
    const rows = all.reduce((total, tensor) => total + tensor.rows - tensor.nonFiniteRows, 0);
    const above = all.reduce(
      (total, tensor) => total + tensor.fractionAbove * (tensor.rows - tensor.nonFiniteRows),
      0,
    );
    const share = itemAt(shares, index);
    table.push([
      name,
      showNumber(meanMav),
      inverseMav === null ? '–' : showNumber(inverseMav),
      percent(rows > 0 ? above / rows : 0),
      percent(share.bottom),
      percent(share.middle),
      percent(share.top),
      percent(share.outside),
    ]);
  }
  return [
    ...wrap(
      `Changes from ${first.base.name}: ${first.rows} rows, threshold ${showThresholds(experts)}; shares are of Σ|Δ|`,
      textWidth(),
    ),
    '',
    plainTable(table, 1, textWidth()),
    ...describeExperts(result),
    ...(overlaps.length === 0 ? [] : ['', describeOverlaps(overlaps)]),
    ...describeTopOverlaps(result),
    '',
    ...result.advice.flatMap((sentence) => wrap(sentence, textWidth())),
    ...describeProposals(result),
    '',
    `${out}/index.html`,
    `${counted(result.files.length, 'file')}${bytesRead > 0 ? `, ${formatBytes(bytesRead)} read in ${formatSeconds(seconds)}` : ''}`,
  ].join('\n');
};

const describeExperts = ({ shares }: AnalysisResult): string[] =>
  shares.flatMap(({ name, experts = [] }) => {
    const all = experts.flatMap((ofLayer, layer) =>
      ofLayer.map((share, expert) => ({ share, words: `layer ${layer} expert ${expert}` })),
    );
    if (all.length === 0) return [];
    const most = all.toSorted((a, b) => b.share - a.share).slice(0, mostExperts);
    const total = all.reduce((sum, { share }) => sum + share, 0);
    const shown = most.map(({ share, words }) => `${words} (${percent(share)})`).join(', ');
    return [
      '',
      ...wrap(
        `${name}: ${percent(total)} of the change is in ${counted(all.length, 'expert')}, the most in ${shown}; an even share is ${percent(total / all.length)}`,
        textWidth(),
      ),
    ];
  });

const describeTopOverlaps = ({ topOverlaps, experts }: AnalysisResult): string[] => {
  const [first] = topOverlaps;
  if (first === undefined) return [];
  const rows = topOverlaps.map(({ experts: pair, whole: { rows: count, inBoth, shared, chance } }) => [
    pair.join(' & '),
    String(count),
    String(inBoth),
    shared === null ? '–' : percent(shared),
    chance === null ? '–' : percent(chance),
  ]);
  return [
    '',
    ...wrap(
      `Largest changes: the ${showShare(first.topShare)} of the ${itemAt(experts, 0).rows} rows of each matrix inside layers with the largest MAV`,
      textWidth(),
    ),
    '',
    plainTable([['pair', 'rows', 'in both', 'share', 'by chance'], ...rows], 1, textWidth()),
  ];
};

const describeProposals = ({ proposals, experts }: AnalysisResult): string[] => {
  if (proposals.length === 0) return [];
  const { layers } = itemAt(experts, 0);
  const range = ([fewest, most]: readonly [number, number]) =>
    fewest === most ? String(fewest) : `${fewest}–${most}`;
  const rows = proposals.map((of) => [
    `${of.task} & ${of.language}`,
    String(of.bottom),
    range(of.bottomRange),
    String(of.top),
    range(of.topRange),
    percent(of.kept.task),
    percent(of.kept.language),
  ]);
  const heading = ['pair', 'bottom', 'range', 'top', 'range', 'task keeps', 'language gives'];
  return [
    '',
    ...wrap(
      `Proposed swaps of ${counted(layers, 'layer')}, by where the largest changes are (a heuristic of ours):`,
      textWidth(),
    ),
    '',
    plainTable([heading, ...rows], 1, textWidth()),
    '',
    ...proposals.flatMap(({ warnings }) => warnings.flatMap((warning) => wrap(`${warning}.`, textWidth()))),
    ...proposals.map(({ command }) => command),
  ];
};

const describeOverlaps = (overlaps: readonly Overlap[]): string => {
  const table = [['pair', 'layers', 'cosine', 'sign agreement', 'rows above in both']];
  const areMany = overlaps.length > mostInDetail;
  for (const { experts, parts, whole } of overlaps) {
    const layers = areMany ? [] : parts.filter(({ layer }) => layer !== null);
    const third = Math.ceil(layers.length / 3);
    const groups = [
      layers.slice(0, third),
      layers.slice(third, layers.length - third),
      layers.slice(layers.length - third),
    ];
    for (const [index, group] of groups.entries()) {
      if (group.length === 0) continue;
      const mean = (of: 'cosine' | 'signAgreement' | 'rowsAboveInBoth') => {
        const values = group.flatMap((part) => part[of] ?? []);
        return values.length === 0 ? '–' : (values.reduce((a, b) => a + b) / values.length).toFixed(3);
      };
      table.push([
        index === 0 ? experts.join(' & ') : '',
        `${group[0]?.layer}–${group.at(-1)?.layer}`,
        mean('cosine'),
        mean('signAgreement'),
        mean('rowsAboveInBoth'),
      ]);
    }
    table.push([
      layers.length === 0 ? experts.join(' & ') : '',
      'whole model',
      ...[whole.cosine, whole.signAgreement, whole.rowsAboveInBoth].map((value) => value?.toFixed(3) ?? '–'),
    ]);
  }
  return plainTable(table, 1, textWidth());
};
