import type { Overlap } from '../analysis/overlap.js';
import { escapeText, fontFamily } from './svg.js';

/** The lines, whose dashes differ without colour too, and the horizontal offset of each one's legend. */
const series = [
  { label: 'cosine', of: 'cosine', stroke: '#1b6ca8', dash: '', legendAt: 0 },
  { label: 'sign agreement', of: 'signAgreement', stroke: '#b0560f', dash: '6 3', legendAt: 82 },
  { label: 'rows above in both', of: 'rowsAboveInBoth', stroke: '#238443', dash: '2 3', legendAt: 198 },
] as const;

/**
 * Draws the overlap of two experts' changes by layer as SVG: the last layer on top, as in the paper's
 * figures.
 */
export const drawOverlap = ({ experts, parts }: Overlap): string => {
  const layers = parts.filter(({ layer }) => layer !== null);
  const [left, top, width, rowHeight] = [44, 72, 300, 13];
  const height = Math.max(1, layers.length) * rowHeight;
  const lowest = layers.reduce((least, { cosine }) => Math.min(least, cosine ?? 0), 0);
  const from = lowest < 0 ? Math.floor(lowest * 10) / 10 : 0;
  const x = (value: number) => left + ((value - from) / (1 - from)) * width;
  const y = (index: number) => top + (layers.length - 1 - index) * rowHeight + rowHeight / 2;
  const lines = series.map(({ label, of, stroke, dash, legendAt }) => {
    const points = layers.flatMap((part, index) => {
      const value = part[of];
      return value === null ? [] : [{ value, index, layer: part.layer }];
    });
    const path = points.map(({ value, index }) => `${x(value).toFixed(1)},${y(index).toFixed(1)}`).join(' ');
    const dots = points.map(
      ({ value, index, layer }) =>
        `<circle cx="${x(value).toFixed(1)}" cy="${y(index).toFixed(1)}" r="2.5" fill="${stroke}"><title>layer ${layer}: ${label} ${value.toFixed(4)}</title></circle>`,
    );
    const legend = `<path d="M${left + legendAt} ${top + height + 42} h24" stroke="${stroke}" stroke-width="2" stroke-dasharray="${dash}"/><text x="${left + 30 + legendAt}" y="${top + height + 46}" font-size="10">${label}</text>`;
    return `<polyline points="${path}" fill="none" stroke="${stroke}" stroke-width="1.5" stroke-dasharray="${dash}"/>${dots.join('')}${legend}`;
  });
  const ticks = Array.from({ length: 6 }, (_, tick) => from + ((1 - from) * tick) / 5).map(
    (value) =>
      `<path d="M${x(value)} ${top} v${height}" stroke="#e5e5e5"/><text x="${x(value)}" y="${top + height + 16}" font-size="10" text-anchor="middle">${Number(value.toFixed(2))}</text>`,
  );
  const labels = layers.flatMap(({ layer }, index) =>
    index % 2 === 0 || index === layers.length - 1
      ? `<text x="${left - 6}" y="${y(index) + 4}" text-anchor="end" font-size="10">${layer}</text>`
      : [],
  );
  const title = experts.join(' and ');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${left + width + 50} ${top + height + 64}" width="${left + width + 50}" height="${top + height + 64}" font-family="${escapeText(fontFamily)}" fill="#222" role="img" aria-label="${escapeText(title)}">
<rect width="100%" height="100%" fill="#fff"/>
<text x="${left}" y="26" font-size="16" font-weight="600">${escapeText(title)}</text>
<text x="${left}" y="46" font-size="11" fill="#555">overlap of their changes, by layer</text>
${ticks.join('\n')}
<rect x="${left}" y="${top}" width="${width}" height="${height}" fill="none" stroke="#999"/>
${labels.join('\n')}
${lines.join('\n')}
</svg>
`;
};
