import { scaleLinear } from 'd3-scale';
import type { TopOverlap } from '../../../core/measure/analysis/advice/top-overlap.js';
import type { Overlap } from '../../../core/measure/analysis/overlap.js';
import { percent } from '../components/data/numbers.js';
import { ink, Picture, tenths } from './picture.js';

/**
 * Line in a plot by layers. A page's style sheet overrides the colour; dashes tell lines apart without
 * colour. `legendAt`: offset in a file's legend.
 */
export interface Measure<Key extends string = string> {
  readonly key: Key;
  readonly label: string;
  readonly style: string;
  readonly colour: string;
  readonly dash: string | undefined;
  readonly legendAt: number;
}

/** Layer's values by measure. Values outside the layers (null) are not drawn. */
export type LayerFigures<Key extends string> = { readonly layer: number | null } & Readonly<
  Record<Key, number | null>
>;

const blue = { style: 'line-cosine', colour: '#1b6ca8', dash: undefined } as const;
const orange = { style: 'line-sign', colour: '#b0560f', dash: '6 3' } as const;
const green = { style: 'line-rows', colour: '#238443', dash: '2 3' } as const;

export const measures = [
  { key: 'cosine', label: 'cosine', ...blue, legendAt: 0 },
  { key: 'signAgreement', label: 'sign agreement', ...orange, legendAt: 82 },
  { key: 'rowsAboveInBoth', label: 'rows above in both', ...green, legendAt: 204 },
] as const satisfies readonly Measure[];

export const topMeasures = [
  { key: 'shared', label: 'of the largest, in both', ...blue, legendAt: 0 },
  { key: 'chance', label: 'by chance', ...green, legendAt: 160 },
] as const satisfies readonly Measure[];

const [left, width, row] = [44, 340, 12];

/** Formats a measure, with U+2212 as minus. */
export const showMeasure = (value: number | null): string => value?.toFixed(3).replace('-', '−') ?? '–';

export const describeOverlap = ({ experts, whole }: Overlap): string =>
  `Overlap of the changes of ${experts.join(' and ')} by layer: ${measures
    .map(({ key, label }) => `${label} ${showMeasure(whole[key])} in the whole model`)
    .join(', ')}`;

type LineProps = { measure: Pick<Measure, 'style' | 'colour' | 'dash'>; d: string };

export const Line = ({ measure: { style, colour, dash }, d }: LineProps) => (
  <path
    class={`line ${style}`}
    d={d}
    fill="none"
    stroke={colour}
    stroke-width={2}
    stroke-linejoin="round"
    stroke-dasharray={dash}
  />
);

export const describeTopOverlap = ({ experts, topShare, whole }: TopOverlap): string =>
  `Overlap of the largest changes of ${experts.join(' and ')} by layer: of the ${percent(topShare)} of the rows of each matrix that changed most, ${percent(whole.shared ?? 0)} are the same in both experts (${percent(whole.chance ?? 0)} expected by chance)`;

const layersOf = <Part extends { readonly layer: number | null }>(parts: readonly Part[]): Part[] =>
  parts.filter(({ layer }) => layer !== null);

export const plotSize = (
  parts: readonly { readonly layer: number | null }[],
): { width: number; height: number } => ({
  width: left + width + 20,
  height: Math.max(1, layersOf(parts).length) * row + 30,
});

interface LayerLinesProps<Key extends string> {
  parts: readonly LayerFigures<Key>[];
  measures: readonly Measure<Key>[];
  top: number;
  most?: number | undefined;
}

/** Draws measures by layer as lines, with the last layer on top as in the paper's figures. */
export const LayerLines = <Key extends string>({
  parts,
  measures: lines,
  top,
  most = 1,
}: LayerLinesProps<Key>) => {
  const layers = layersOf(parts);
  const bottom = top + Math.max(1, layers.length) * row;
  const least = Math.min(0, ...layers.flatMap((part) => lines.map(({ key }) => part[key] ?? 0)));
  const x = scaleLinear()
    .domain([least, most])
    .nice()
    .range([left, left + width]);
  const y = scaleLinear()
    .domain([0, layers.length])
    .range([bottom - row / 2, top - row / 2]);
  return (
    <>
      {x.ticks(6).map((tick) => (
        <g key={tick}>
          <path class="rule" stroke={ink.rule} d={`M${tenths(x(tick))} ${top}V${bottom}`} />
          <text
            class="tick"
            x={tenths(x(tick))}
            y={bottom + 16}
            text-anchor="middle"
            font-size={10}
            fill={ink.soft}
          >
            {tick}
          </text>
        </g>
      ))}
      {layers.map(({ layer }, index) =>
        index % 2 === 0 || index === layers.length - 1 ? (
          <text
            key={layer}
            class="tick"
            x={left - 8}
            y={tenths(y(index) + 4)}
            text-anchor="end"
            font-size={10}
            fill={ink.soft}
          >
            {layer}
          </text>
        ) : null,
      )}
      {lines.map((measure) => {
        const points = layers.flatMap((part, index) => {
          const value = part[measure.key];
          return value === null
            ? []
            : { value, layer: part.layer, at: [tenths(x(value)), tenths(y(index))] as const };
        });
        return points.length === 0 ? null : (
          <g key={measure.key}>
            <Line measure={measure} d={`M${points.map(({ at }) => at.join(' ')).join('L')}`} />
            {points.map(({ value, layer, at: [cx, cy] }) => (
              <circle
                key={layer}
                class={`line ${measure.style}`}
                fill={measure.colour}
                stroke={measure.colour}
                {...{ cx, cy }}
                r={2}
              >
                <title>{`layer ${layer}: ${measure.label} ${showMeasure(value)}`}</title>
              </circle>
            ))}
          </g>
        );
      })}
    </>
  );
};

interface LayerPictureProps<Key extends string> {
  title: string;
  subtitle: string;
  description: string;
  parts: readonly LayerFigures<Key>[];
  measures: readonly Measure<Key>[];
}

const LayerPicture = <Key extends string>({
  title,
  subtitle,
  description,
  parts,
  measures: lines,
}: LayerPictureProps<Key>) => {
  const { width: total, height } = plotSize(parts);
  const [top, legend] = [64, 64 + height + 12];
  return (
    <Picture {...{ title, subtitle, description, left, width: total }} height={legend + 20}>
      <LayerLines {...{ parts, top }} measures={lines} />
      {lines.map((measure) => {
        const at = left + measure.legendAt;
        return (
          <g key={measure.key}>
            <Line measure={measure} d={`M${at} ${legend}h24`} />
            <text x={at + 30} y={legend + 4} font-size={10}>
              {measure.label}
            </text>
          </g>
        );
      })}
    </Picture>
  );
};

export const OverlapPicture = ({ overlap }: { overlap: Overlap }) => (
  <LayerPicture
    title={overlap.experts.join(' and ')}
    subtitle="overlap of their changes, by layer"
    description={describeOverlap(overlap)}
    parts={overlap.parts}
    measures={measures}
  />
);

export const TopOverlapPicture = ({ overlap }: { overlap: TopOverlap }) => (
  <LayerPicture
    title={overlap.experts.join(' and ')}
    subtitle={`overlap of the largest ${percent(overlap.topShare)} of changed rows, by layer`}
    description={describeTopOverlap(overlap)}
    parts={overlap.parts}
    measures={topMeasures}
  />
);
