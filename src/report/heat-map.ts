import { itemAt } from '../lookup.js';
import { escapeText, fontFamily, formatNumber, green, greens, sixDecimals } from './svg.js';

/** The paper's figure: fractions of rows by layer and matrix. */
export interface HeatMap {
  readonly title: string;
  readonly subtitle: string;
  /** Short names of the columns. */
  readonly columns: readonly string[];
  /** By layer, layer 0 first, then column; undefined where a layer has no such matrix. */
  readonly cells: readonly (readonly (number | undefined)[])[];
  /** The value of the darkest colour. */
  readonly most: number;
}

const [left, top, cellWidth, cellHeight] = [44, 72, 46, 13];

/**
 * Draws a heat map as SVG in the paper's style: the last layer on top, layer 0 at the bottom, white to green,
 * the value on hover. Cells have `data-cell="layer,column"`, for pages that recolour them.
 *
 * @param id prefix of the SVG's element ids, which must differ between pictures on one page
 */
export const drawHeatMap = ({ title, subtitle, columns, cells, most }: HeatMap, id = 'map'): string => {
  const width = Math.max(left + columns.length * cellWidth + 24, 300);
  const layers = cells.length;
  const bottom = top + layers * cellHeight;
  const height = bottom + 74;
  const x = (column: number) => left + column * cellWidth;
  const y = (layer: number) => top + (layers - 1 - layer) * cellHeight;
  const rects = cells.flatMap((row, layer) =>
    row.map((value, column) =>
      value === undefined
        ? `<rect x="${x(column)}" y="${y(layer)}" width="${cellWidth}" height="${cellHeight}" fill="#f4f4f4"/>`
        : `<rect x="${x(column)}" y="${y(layer)}" width="${cellWidth}" height="${cellHeight}" fill="${green(value, most)}" stroke="#ddd" stroke-width="0.5" data-cell="${layer},${column}"><title>layer ${layer}, ${escapeText(itemAt(columns, column))}: ${sixDecimals(value)}</title></rect>`,
    ),
  );
  const labelled = layers <= 16 ? 1 : layers <= 40 ? 2 : Math.ceil(layers / 20);
  const layerLabels = cells.flatMap((_, layer) =>
    layer % labelled === 0 || layer === layers - 1
      ? `<text x="${left - 6}" y="${y(layer) + cellHeight - 3}" text-anchor="end" font-size="10">${layer}</text>`
      : [],
  );
  const columnLabels = columns.map(
    (label, column) =>
      `<text x="${x(column) + cellWidth / 2}" y="${bottom + 15}" text-anchor="middle" font-size="11">${escapeText(label.length > 8 ? `${label.slice(0, 7)}…` : label)}<title>${escapeText(label)}</title></text>`,
  );
  const legendWidth = Math.min(160, columns.length * cellWidth);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="${escapeText(fontFamily)}" fill="#222" role="img" aria-label="${escapeText(title)}">
<rect width="100%" height="100%" fill="#fff"/>
<text x="${left}" y="26" font-size="16" font-weight="600">${escapeText(title)}</text>
<text x="${left}" y="46" font-size="11" fill="#555" class="subtitle">${escapeText(subtitle)}</text>
<text x="12" y="${top + (layers * cellHeight) / 2}" font-size="11" fill="#555" text-anchor="middle" transform="rotate(-90 12 ${top + (layers * cellHeight) / 2})">layer</text>
${rects.join('\n')}
<rect x="${left}" y="${top}" width="${columns.length * cellWidth}" height="${layers * cellHeight}" fill="none" stroke="#999"/>
${layerLabels.join('\n')}
${columnLabels.join('\n')}
<defs><linearGradient id="${id}-scale">${[0, 25, 50, 75, 100].map((step) => `<stop offset="${step}%" stop-color="${greens[step]}"/>`).join('')}</linearGradient></defs>
<rect x="${left}" y="${bottom + 30}" width="${legendWidth}" height="10" fill="url(#${id}-scale)" stroke="#999" stroke-width="0.5"/>
<text x="${left}" y="${bottom + 54}" font-size="10">0</text>
<text x="${left + legendWidth}" y="${bottom + 54}" font-size="10" text-anchor="end" class="most">${formatNumber(most)}</text>
<text x="${left + legendWidth + 8}" y="${bottom + 39}" font-size="10" fill="#555">rows above</text>
</svg>
`;
};
