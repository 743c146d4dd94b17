import { scaleLinear } from 'd3-scale';
import { showNumber, sixDecimals } from '../components/data/numbers.js';
import { ink, Picture, tenths } from './picture.js';

export interface HeatMapData {
  readonly title: string;
  readonly subtitle: string;
  readonly columns: readonly string[];
  /** Cells by layer, then column. `other`: different, without a number; null or undefined: no such matrix. */
  readonly cells: readonly (readonly (number | 'other' | null | undefined)[])[];
  readonly most: number;
  readonly unit?: string | undefined;
}

type DescribedRows = { rows: string; threshold: number; base: string };

export const describeRows = ({ rows, threshold, base }: DescribedRows): string =>
  `${rows} rows with MAV above ${showNumber(threshold)}; base ${base}`;

/** Colours of decreasing lightness, legible in print and without colour. */
const greens = ['#ffffff', '#bae4b3', '#31a354', '#003c14'] as const;

const [left, top, rowHeight] = [44, 72, 13];

const longest = 12;

const shortened = (label: string): string =>
  label.length > longest ? `${label.slice(0, longest - 1)}…` : label;

/** Heat map in the paper's style: layer 0 at the bottom, values as titles of cells. */
export const HeatMap = ({ title, subtitle, columns, cells, most, unit = 'rows above' }: HeatMapData) => {
  const layers = cells.length;
  const cellWidth = columns.reduce(
    (width, label) => Math.max(width, Math.ceil(6.5 * shortened(label).length)),
    46,
  );
  const [right, bottom] = [left + columns.length * cellWidth, top + layers * rowHeight];
  const x = scaleLinear().domain([0, columns.length]).range([left, right]);
  const y = scaleLinear().domain([0, layers]).range([bottom, top]);
  const colour = scaleLinear<string>()
    .domain(greens.map((_, index) => (most * index) / (greens.length - 1)))
    .range(greens)
    .clamp(true);
  const labelled = layers <= 16 ? 1 : layers <= 40 ? 2 : Math.ceil(layers / 20);
  const legendWidth = Math.min(160, right - left);
  const middle = (top + bottom) / 2;
  return (
    <Picture
      {...{ title, subtitle, left }}
      description={`${subtitle}; ${layers} layers, layer 0 at the bottom, by ${columns.join(', ')}; from 0 (white) to ${showNumber(most)} (dark green)`}
      width={tenths(Math.max(right + 24, 300))}
      height={bottom + 74}
    >
      <text
        x={12}
        y={middle}
        font-size={11}
        fill={ink.soft}
        text-anchor="middle"
        transform={`rotate(-90 12 ${middle})`}
      >
        layer
      </text>
      {cells.flatMap((row, layer) =>
        columns.map((label, column) => {
          const value = row[column];
          const size = {
            x: tenths(x(column)),
            y: tenths(y(layer + 1)),
            width: tenths(cellWidth),
            height: rowHeight,
          };
          return value == null ? (
            <rect key={`${layer},${column}`} {...size} fill="#f4f4f4" />
          ) : (
            <rect
              key={`${layer},${column}`}
              {...size}
              fill={colour(value === 'other' ? most : value)}
              stroke="#ddd"
              stroke-width={0.5}
              data-cell={`${layer},${column}`}
            >
              <title>{`layer ${layer}, ${label}: ${value === 'other' ? 'differs, but has no relative difference' : sixDecimals(value)}`}</title>
            </rect>
          );
        }),
      )}
      <rect
        x={left}
        y={top}
        width={tenths(right - left)}
        height={bottom - top}
        fill="none"
        stroke={ink.frame}
      />
      {cells.map((_, layer) =>
        layer % labelled === 0 || layer === layers - 1 ? (
          <text key={`layer ${layer}`} x={left - 6} y={tenths(y(layer) - 3)} text-anchor="end" font-size={10}>
            {layer}
          </text>
        ) : null,
      )}
      {columns.map((label, column) => (
        <text
          key={`column ${column}`}
          x={tenths(x(column + 0.5))}
          y={bottom + 15}
          text-anchor="middle"
          font-size={11}
        >
          {shortened(label)}
          {shortened(label) === label ? null : <title>{label}</title>}
        </text>
      ))}
      <defs>
        <linearGradient id="scale">
          {greens.map((green, index) => (
            <stop key={green} offset={`${tenths((100 * index) / (greens.length - 1))}%`} stop-color={green} />
          ))}
        </linearGradient>
      </defs>
      <rect
        x={left}
        y={bottom + 30}
        width={legendWidth}
        height={10}
        fill="url(#scale)"
        stroke={ink.frame}
        stroke-width={0.5}
      />
      <text x={left} y={bottom + 54} font-size={10}>
        0
      </text>
      <text x={left + legendWidth} y={bottom + 54} font-size={10} text-anchor="end">
        {showNumber(most)}
      </text>
      <text x={left + legendWidth + 8} y={bottom + 39} font-size={10} fill={ink.soft}>
        {unit}
      </text>
    </Picture>
  );
};
