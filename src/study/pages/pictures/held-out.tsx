import { scaleLinear } from 'd3-scale';
import { fixed } from '../../scores/reading/score-table.js';
import type { SearchRecord } from '../../search/run-search.js';
import { ink, tenths } from './picture.js';
import { colours, plot, unitsOf } from './search-plot.js';

/** Returns the conclusion as lines: verdict, difference, direction, interval, test, number of problems. */
const linesOf = (search: SearchRecord): string[] => {
  const { conclusion, recommended, choice } = search;
  if (conclusion === null) return [];
  return [
    conclusion.words,
    ...conclusion.evidence,
    `recommended: ${recommended === choice ? 'the choice' : 'the default'}`,
  ];
};

export const HeldOut = ({ search, left }: { search: SearchRecord; left: number }) => {
  const { heldOut, choice, default: standard, metric } = search;
  const head = (
    <text x={left} y={plot.top} font-size={12} font-weight={600}>
      Problems not searched
    </text>
  );
  if (heldOut === null)
    return (
      <g font-size={11}>
        {head}
        <text x={left} y={plot.top + 24}>
          The default was chosen.
        </text>
        <text x={left} y={plot.top + 42} fill={ink.soft}>
          {standard}
        </text>
      </g>
    );
  const { unit, factor, digits } = unitsOf(metric);
  const length = scaleLinear()
    .domain([0, Math.max(heldOut.choice, heldOut.default, 1e-9)])
    .range([0, plot.panel - 20]);
  const bars = [
    { name: choice, label: 'chosen', value: heldOut.choice, fill: colours.choice },
    { name: standard, label: 'default', value: heldOut.default, fill: colours.standard },
  ];
  return (
    <g font-size={11}>
      {head}
      {bars.map(({ name, label, value, fill }, index) => {
        const top = plot.top + 22 + index * 62;
        return (
          <g key={label}>
            <text x={left} y={top + 10}>
              {`${label}: ${fixed(value * factor, digits)}${unit === 'percent' ? ' %' : ''}`}
            </text>
            <rect x={left} y={top + 16} width={tenths(length(value))} height={16} fill={fill} />
            <text x={left} y={top + 46} font-size={10} fill={ink.soft}>
              {name}
            </text>
          </g>
        );
      })}
      {linesOf(search).map((line, index) => (
        <text key={line} x={left} y={plot.top + 166 + 18 * index} font-weight={index === 0 ? 600 : undefined}>
          {line}
        </text>
      ))}
    </g>
  );
};
