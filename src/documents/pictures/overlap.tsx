import { scaleLinear } from 'd3-scale';
import type { PageOverlap } from '../pages/data.js';
import { ink, Picture, tenths } from './picture.js';

/**
 * Measures of overlap. A page's style sheet replaces their colours by their style; dashes differ without colour too.
 * `legendAt` is the offset in a file's legend.
 */
export const measures = [
  { key: 'cosine', label: 'cosine', style: 'line-cosine', colour: '#1b6ca8', dash: undefined, legendAt: 0 },
  {
    key: 'signAgreement',
    label: 'sign agreement',
    style: 'line-sign',
    colour: '#b0560f',
    dash: '6 3',
    legendAt: 82,
  },
  {
    key: 'rowsAboveInBoth',
    label: 'rows above in both',
    style: 'line-rows',
    colour: '#238443',
    dash: '2 3',
    legendAt: 204,
  },
] as const;

type Measure = (typeof measures)[number];

const [left, width, row] = [44, 340, 12];

/** Formats a measure; a minus is U+2212. */
export const showMeasure = (value: number | null): string => value?.toFixed(3).replace('-', '−') ?? '–';

/** Says an overlap in words: the figures of the whole model. */
export const describeOverlap = ({ experts, whole }: PageOverlap): string =>
  `Overlap of the changes of ${experts.join(' and ')} by layer: ${measures
    .map(({ key, label }) => `${label} ${showMeasure(whole[key])} in the whole model`)
    .join(', ')}`;

/** The line of a measure. */
export const Line = ({ measure: { style, colour, dash }, d }: { measure: Measure; d: string }) => (
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

const layersOf = ({ parts }: PageOverlap) => parts.filter(({ layer }) => layer !== null);

/** Width and height of a plot in pixels, its labels included. */
export const plotSize = (overlap: PageOverlap): { width: number; height: number } => ({
  width: left + width + 20,
  height: Math.max(1, layersOf(overlap).length) * row + 30,
});

/** Three measures of overlap by layer, the last layer on top as in the paper's figures. */
export const OverlapPlot = ({ overlap, top }: { overlap: PageOverlap; top: number }) => {
  const layers = layersOf(overlap);
  const bottom = top + Math.max(1, layers.length) * row;
  const least = layers.reduce((low, { cosine }) => Math.min(low, cosine ?? 0), 0);
  const x = scaleLinear()
    .domain([least, 1])
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
      {measures.map((measure) => {
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

/** The overlap of two experts' changes by layer, with its legend. */
export const OverlapPicture = ({ overlap }: { overlap: PageOverlap }) => {
  const { width: total, height } = plotSize(overlap);
  const [top, legend] = [64, 64 + height + 12];
  return (
    <Picture
      title={overlap.experts.join(' and ')}
      subtitle="overlap of their changes, by layer"
      description={describeOverlap(overlap)}
      {...{ left, width: total }}
      height={legend + 20}
    >
      <OverlapPlot {...{ overlap, top }} />
      {measures.map((measure) => {
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
