import type { Overlap } from '../analysis/overlap.js';
import { itemAt } from '../lookup.js';
import { formatBytes, formatSeconds } from './format.js';
import { formatNumber } from './svg.js';
import { plainTable } from './table.js';
import type { AnalysisResult } from './write-analysis.js';

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** Formats an analysis for the terminal: tables of experts and pairs, then advice. */
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
      formatNumber(meanMav),
      inverseMav === null ? '–' : formatNumber(inverseMav),
      percent(rows > 0 ? above / rows : 0),
      percent(share.bottom),
      percent(share.middle),
      percent(share.top),
      percent(share.outside),
    ]);
  }
  return [
    `Changes from ${first.base.name}: ${first.rows} rows, threshold ${formatNumber(first.threshold)}; shares are of Σ|Δ|`,
    '',
    plainTable(table, 1),
    ...(overlaps.length === 0 ? [] : ['', describeOverlaps(overlaps)]),
    '',
    ...advice(result, bottom, top),
    '',
    `${out}/index.html`,
    `${result.files.length} files${bytesRead > 0 ? `, ${formatBytes(bytesRead)} read in ${formatSeconds(seconds)}` : ''}`,
  ].join('\n');
};

const describeOverlaps = (overlaps: readonly Overlap[]): string => {
  const table = [['pair', 'layers', 'cosine', 'sign agreement', 'rows above in both']];
  for (const { experts, parts, whole } of overlaps) {
    const layers = parts.filter(({ layer }) => layer !== null);
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
      '',
      'all',
      ...[whole.cosine, whole.signAgreement, whole.rowsAboveInBoth].map((value) => value?.toFixed(3) ?? '–'),
    ]);
  }
  return plainTable(table, 1);
};

/** Relative deviation from an even spread over the layers below which a share counts as even. */
const even = 0.1;

/**
 * Applies the paper's criterion: layers that an expert changed little are the ones to take from another
 * expert.
 */
const advice = ({ shares, overlaps }: AnalysisResult, bottom: number, top: number): string[] => [
  ...shares.map(({ name, layers, bottom: first, top: last }) => {
    const changed = layers.reduce((a, b) => a + b, 0);
    if (changed === 0) return `${name} changed no layer.`;
    if (layers.length <= bottom + top)
      return `${name} has no layers other than its first ${bottom} and last ${top}.`;
    const [share, spread] = [(first + last) / changed, Math.min(1, (bottom + top) / layers.length)];
    const numbers = `${percent(share)} of the change in ${percent(spread)} of the layers`;
    const ends = `its first ${bottom} and last ${top} layers`;
    if (share < spread * (1 - even))
      return `${name} changed ${ends} less than the others (${numbers}): they can be taken from another expert.`;
    if (share > spread * (1 + even))
      return `${name} changed ${ends} more than the others (${numbers}): they hold much of what it has learnt.`;
    return `${name} changed ${ends} as much as the others (${numbers}).`;
  }),
  ...overlaps.map(({ experts, parts }) => {
    const cosines = parts.flatMap(({ layer, cosine }) => (layer === null || cosine === null ? [] : [cosine]));
    const pair = experts.join(' and ');
    if (cosines.length === 0) return `${pair} changed no layer in common.`;
    const mean = cosines.reduce((a, b) => a + b) / cosines.length;
    const number = `mean cosine ${mean.toFixed(3)} over the layers`;
    return mean < 0.1
      ? `${pair} changed the layers in nearly independent directions (${number}): averaging halves both changes, swapping keeps each whole.`
      : `${pair} changed the layers in related directions (${number}): averaging keeps what they have in common.`;
  }),
];
