import { scaleLinear } from 'd3-scale';
import type { SearchRecord } from '../../search/run-search.js';
import { rangeOf } from '../components/data/heat.js';
import { HeldOut } from './held-out.js';
import { ink, Picture, tenths } from './picture.js';
import { colours, formatterOf, plot } from './search-plot.js';
import { columnsOf, LinesBetween, Step, StepLabels } from './search-steps.js';

const subtitleOf = ({ spent, grid, rows, metric }: SearchRecord): string =>
  `successive halving on problems ${rows[0]} to ${rows[1] - 1}; ` +
  `${spent.toLocaleString('en')} of the grid's ${grid.toLocaleString('en')} problem-evaluations (${((100 * spent) / grid).toFixed(1)} %)` +
  (metric === null ? '' : `; ${metric}`);

const legend = [
  { label: 'chosen', fill: colours.choice },
  { label: 'went on', fill: colours.kept },
  { label: 'left out', fill: colours.dropped },
  { label: 'default', fill: colours.standard },
];

/**
 * Course of a search. Each step is a column with a dot for each configuration at its mean; lines connect
 * configurations that continue. On the right: choice and default on held-out problems.
 */
export const SearchPicture = ({ search }: { search: SearchRecord }) => {
  const { steps, metric, choice } = search;
  const format = formatterOf(metric);
  const width = steps.length * 112;
  const right = plot.left + width;
  const means = steps.flatMap(({ candidates }) => candidates.flatMap(({ mean }) => mean ?? []));
  const x = scaleLinear().domain([0, steps.length]).range([plot.left, right]);
  const y = scaleLinear()
    .domain(means.length > 0 ? rangeOf(means) : [0, 1])
    .nice(5)
    .range([plot.bottom, plot.top]);
  const columns = columnsOf(steps, x, y);
  return (
    <Picture
      title={`Search of ${search.configurations} configurations, ${search.language}`}
      subtitle={subtitleOf(search)}
      description={`${choice} was chosen after ${steps.length} steps`}
      left={20}
      width={right + plot.panel + 24}
      height={plot.bottom + 96}
    >
      {legend.map(({ label, fill }, index) => (
        <g key={label}>
          <circle cx={25 + 78 * index} cy={68} r={4.5} fill={fill} />
          <text x={35 + 78 * index} y={72} font-size={11}>
            {label}
          </text>
        </g>
      ))}
      {y.ticks(5).map((tick) => (
        <g key={tick}>
          <path d={`M${plot.left} ${tenths(y(tick))}H${right}`} stroke={ink.rule} />
          <text x={plot.left - 8} y={tenths(y(tick) + 4)} font-size={10} text-anchor="end" fill={ink.soft}>
            {format(tick)}
          </text>
        </g>
      ))}
      <LinesBetween {...{ search, columns }} />
      {columns.map((column) => (
        <Step key={column.from} {...{ search, column, format }} />
      ))}
      <StepLabels columns={columns} />
      <HeldOut search={search} left={right + 24} />
    </Picture>
  );
};
