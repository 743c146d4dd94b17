import { scaleLinear } from 'd3-scale';
import { capitalised } from '../../../core/base/format.js';
import { isMergedId } from '../../scores/boards/group-ids.js';
import { fixed } from '../../scores/reading/score-table.js';
import type { PageTable } from '../components/data/data.js';
import { rangeOf } from '../components/data/heat.js';
import { ink, Picture, tenths } from './picture.js';

/** Bar in a panel: a method's gain and its 95 % interval. */
export interface GainBar {
  readonly label: string;
  readonly value: number;
  readonly digits: number;
  readonly interval: readonly [low: number, high: number] | undefined;
  /** True for models that were trained, not merged. */
  readonly isReference: boolean;
}

export interface GainPanel {
  readonly title: string;
  readonly bars: readonly GainBar[];
}

export const baselines = { base: 'the base', expert: 'the best single expert' } as const;

export const panelsOf = ({ columns, rows }: Pick<PageTable, 'columns' | 'rows'>, baseline: string) =>
  columns.flatMap(({ id: column, label: heading }, at): GainPanel[] => {
    // With only one language, the mean adds nothing.
    if (column === 'mean' && columns.length < 3) return [];
    const bars = rows.flatMap(({ id, label: row, cells }) => {
      const [method = '', of] = id.split('/');
      const cell = cells[at] ?? null;
      if (of !== baseline || cell === null) return [];
      const label = row.replace(/, over the (best single expert|base)$/, '');
      const { value, digits, interval } = cell;
      return [{ label, value: Number(value), digits, interval, isReference: !isMergedId(method) }];
    });
    const title = column === 'mean' ? 'Mean over the languages' : capitalised(heading);
    return bars.length === 0 ? [] : [{ title, bars }];
  });

const [step, barHeight, digitWidth, gap] = [34, 11, 8, 10] as const;

const signed = ({ value, digits }: GainBar): string =>
  `${value < 0 ? '−' : '+'}${fixed(Math.abs(value), digits)}`;

const described = (bar: GainBar): string => {
  const ends = bar.interval?.map((bound) => fixed(bound, bar.digits).replace('-', '−'));
  return `${bar.label}: ${signed(bar)}${ends === undefined ? '' : `, 95 % interval ${ends.join(' to ')}`}`;
};

export const describePanel = ({ title, bars }: GainPanel): string =>
  `${title}: ${bars.map(described).join('; ')}`;

export const heightOf = (bars: readonly GainBar[]): number => step * bars.length + 10;

/** Leaves room for the longest number on the right. */
export const scaleOf = (panels: readonly GainPanel[], left: number, width: number) => {
  const bars = panels.flatMap((panel) => panel.bars);
  const [low, high] = rangeOf([0, ...bars.flatMap(({ value, interval }) => [value, ...(interval ?? [])])]);
  const longest = Math.max(0, ...bars.map((bar) => signed(bar).length));
  return scaleLinear()
    .domain(low === high ? [0, 1] : [low, high])
    .range([left, width - gap - digitWidth * longest]);
};

/** Merges are dark; other models are light with a frame, so that they differ even without colour. */
const fills = { merged: '#31a354', reference: '#e5e5e5' } as const;

interface GainBarsProps {
  bars: readonly GainBar[];
  x: (value: number) => number;
  left: number;
  top: number;
  width: number;
}

export const GainBars = ({ bars, x, left, top, width }: GainBarsProps) => (
  <g font-size={11}>
    {bars.map((bar, at) => {
      const { label, value, interval, isReference } = bar;
      const y = top + step * at;
      const middle = y + 14 + barHeight / 2;
      const [low, high] = (interval ?? []).map((end) => tenths(x(end)));
      return (
        <g key={label}>
          <title>{described(bar)}</title>
          <text class="tick" x={left} y={y + 9}>
            {label}
          </text>
          <rect
            class={isReference ? 'bar bar-reference' : 'bar'}
            x={tenths(Math.min(x(0), x(value)))}
            y={y + 14}
            width={tenths(Math.abs(x(value) - x(0)))}
            height={barHeight}
            fill={isReference ? fills.reference : fills.merged}
            stroke={isReference ? ink.frame : fills.merged}
          />
          <path class="zero" d={`M${tenths(x(0))} ${y + 12}v${barHeight + 4}`} stroke={ink.soft} />
          {interval === undefined ? null : (
            <path
              class="whisker"
              d={`M${low} ${middle}H${high}M${low} ${middle - 3}v6M${high} ${middle - 3}v6`}
              stroke={ink.text}
              fill="none"
            />
          )}
          <text x={width} y={middle + 4} text-anchor="end">
            {signed(bar)}
          </text>
        </g>
      );
    })}
  </g>
);

export interface GainsPicture {
  readonly title: string;
  readonly subtitle: string;
  readonly panels: readonly GainPanel[];
}

const [left, top, panelWidth, gutter] = [24, 70, 300, 36] as const;

/** Gains by language and method, as in the report and Fig. 2 of the follow-up paper. Panels share a scale. */
export const GainsPicture = ({ title, subtitle, panels }: GainsPicture) => {
  const across = Math.min(3, panels.length);
  const panelHeight = 20 + Math.max(...panels.map(({ bars }) => heightOf(bars)));
  const bottom = top + Math.ceil(panels.length / across) * panelHeight;
  const x = scaleOf(panels, 0, panelWidth);
  return (
    <Picture
      {...{ title, subtitle, left }}
      description={panels.map(describePanel).join('; ')}
      width={2 * left + across * panelWidth + (across - 1) * gutter}
      height={bottom + 30}
    >
      {panels.map((panel, at) => {
        const place = `translate(${left + (at % across) * (panelWidth + gutter)} ${top + Math.floor(at / across) * panelHeight})`;
        return (
          <g key={panel.title} transform={place}>
            <text y={10} font-size={12} font-weight={600}>
              {panel.title}
            </text>
            <GainBars bars={panel.bars} x={x} left={0} top={23} width={panelWidth} />
          </g>
        );
      })}
      <g transform={`translate(${left} ${bottom + 6})`} font-size={10} fill={ink.soft}>
        <rect width={10} height={10} fill={fills.merged} stroke={fills.merged} />
        <text x={16} y={9}>
          merged
        </text>
        <rect x={70} width={10} height={10} fill={fills.reference} stroke={ink.frame} />
        <text x={86} y={9}>
          trained, not merged; lines are 95 % intervals
        </text>
      </g>
    </Picture>
  );
};
