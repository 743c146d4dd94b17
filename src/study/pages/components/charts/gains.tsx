import { scaleLinear } from 'd3-scale';
import { useState } from 'preact/hooks';
import { isMergedId } from '../../../scores/boards/group-ids.js';
import { fixed } from '../../../scores/reading/score-table.js';
import { tenths } from '../../pictures/picture.js';
import type { PageCell, PageTable, ReportData } from '../data/data.js';
import { rangeOf } from '../data/heat.js';
import { named } from '../data/results.js';
import { Choice, SavedFigure, Section } from './section.js';

const [width, left, top, step, barHeight] = [340, 4, 6, 34, 11] as const;

const [digitWidth, gap] = [8, 10] as const;

interface Method {
  readonly id: string;
  readonly label: string;
  readonly isReference: boolean;
  readonly cells: readonly (PageCell | null)[];
}

const gainTables = ({ tables }: ReportData): PageTable[] =>
  tables.filter(({ id }) => id === 'gains' || id.startsWith('gains/'));

export const hasGains = (data: ReportData): boolean => gainTables(data).length > 0;

/** Rows in a table of gains over a baseline, `base` or `expert`. */
export const methodsOf = ({ rows }: PageTable, baseline: string): Method[] =>
  rows.flatMap(({ id, label, cells }) => {
    const [method = '', of] = id.split('/');
    const name = label.replace(/, over the (best single expert|base)$/, '');
    return of === baseline ? [{ id: method, label: name, isReference: !isMergedId(method), cells }] : [];
  });

const signed = ({ value, digits }: PageCell): string =>
  `${Number(value) < 0 ? '−' : '+'}${fixed(Math.abs(Number(value)), digits)}`;

const described = ({ label }: Method, cell: PageCell): string => {
  const { interval, digits } = cell;
  const between =
    interval === undefined
      ? ''
      : `, 95 % interval ${interval.map((bound) => fixed(bound, digits).replace('-', '−')).join(' to ')}`;
  return `${label}: ${signed(cell)}${between}`;
};

interface PanelProps {
  title: string;
  methods: readonly Method[];
  column: number;
  domain: readonly [number, number];
  right: number;
}

const Panel = ({ title, methods, column, domain, right }: PanelProps) => {
  const shown = methods.flatMap((method) => {
    const cell = method.cells[column] ?? null;
    return cell === null ? [] : [{ method, cell, value: Number(cell.value) }];
  });
  const height = top + step * shown.length + 4;
  const x = scaleLinear()
    .domain([...domain])
    .range([left, width - right]);
  if (shown.length === 0) return null;
  return (
    <SavedFigure
      {...{ title, width, height }}
      label={`${title}: ${shown.map(({ method, cell }) => described(method, cell)).join('; ')}`}
      name={`gain ${title}`}
    >
      {shown.map(({ method, cell, value }, at) => {
        const y = top + step * at;
        const [low, high] = cell.interval ?? [value, value];
        const middle = y + 14 + barHeight / 2;
        return (
          <g key={method.id}>
            <title>{described(method, cell)}</title>
            <text class="tick" x={left} y={y + 9}>
              {method.label}
            </text>
            <rect
              class={method.isReference ? 'bar bar-reference' : 'bar'}
              x={tenths(Math.min(x(0), x(value)))}
              y={y + 14}
              width={tenths(Math.abs(x(value) - x(0)))}
              height={barHeight}
            />
            <path class="zero" d={`M${tenths(x(0))} ${y + 12}v${barHeight + 4}`} />
            {cell.interval === undefined ? null : (
              <path
                class="whisker"
                d={`M${tenths(x(low))} ${middle}H${tenths(x(high))}M${tenths(x(low))} ${middle - 3}v6M${tenths(x(high))} ${middle - 3}v6`}
              />
            )}
            <text x={width} y={middle + 4} text-anchor="end">
              {signed(cell)}
            </text>
          </g>
        );
      })}
    </SavedFigure>
  );
};

const baselines = [
  { value: 'base', label: 'the base' },
  { value: 'expert', label: 'the best single expert' },
] as const;

/** Charts of gains (the follow-up's Fig. 2). */
export const Gains = ({ data }: { data: ReportData }) => {
  const tables = gainTables(data);
  const [id, setId] = useState(tables[0]?.id ?? '');
  const [baseline, setBaseline] = useState<string>('base');
  const table = tables.find((of) => of.id === id);
  if (table === undefined) return null;
  const methods = methodsOf(table, baseline);
  const bounds = methods.flatMap(({ cells }) =>
    cells.flatMap((cell) => (cell === null ? [] : [Number(cell.value), ...(cell.interval ?? [])])),
  );
  const [low, high] = rangeOf([0, ...bounds]);
  const longest = methods.flatMap(({ cells }) =>
    cells.map((cell) => (cell === null ? 0 : signed(cell).length)),
  );
  const right = gap + digitWidth * Math.max(0, ...longest);
  const several = table.columns.length > 2;
  return (
    <Section
      id="gains"
      title="Gain by language and method"
      lead="Mean over pairs, and over models trained without merging, less what is chosen below; positive is better. A line is the 95 % interval."
    >
      <div class="choices controls">
        <Choice
          label="Gain over"
          value={baseline}
          options={baselines.filter(({ value }) => methodsOf(table, value).length > 0)}
          choose={setBaseline}
        />
        {tables.length < 2 ? null : (
          <Choice
            label="Benchmark"
            value={id}
            options={tables.map((of) => ({ value: of.id, label: of.title.replace(/:.*/, '') }))}
            choose={setId}
          />
        )}
      </div>
      <p class="key">
        <span class="swatch bar-merge" /> merged <span class="swatch bar-reference" /> trained, not merged
      </p>
      <div class="figures">
        {table.columns.map((column, at) =>
          // With a single language, the mean adds nothing.
          column.id === 'mean' && !several ? null : (
            <Panel
              key={column.id}
              title={column.id === 'mean' ? 'Mean over the languages' : named(column.label)}
              column={at}
              domain={low === high ? [0, 1] : [low, high]}
              {...{ methods, right }}
            />
          ),
        )}
      </div>
      <p class="none">All panels have one scale. The numbers are in the table “{table.title}”.</p>
    </Section>
  );
};
