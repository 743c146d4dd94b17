import { scaleLinear } from 'd3-scale';
import { fixed } from '../../scores/reading/score-table.js';
import { ink, Picture, tenths } from './picture.js';

/** A bar in a panel: a method's gain and its 95 % interval. */
export interface GainBar {
  readonly label: string;
  readonly value: number;
  readonly digits: number;
  readonly interval: readonly [low: number, high: number] | undefined;
  /** True for models that were trained, not merged. */
  readonly isReference: boolean;
}

export interface GainsPicture {
  readonly title: string;
  readonly subtitle: string;
  readonly panels: readonly { readonly title: string; readonly bars: readonly GainBar[] }[];
}

const [left, top, panelWidth, gutter, step, barHeight, figures] = [24, 70, 300, 36, 34, 11, 48] as const;

/** Merges are dark, and others light with a frame, so that they differ even without colour. */
const fills = { merged: '#31a354', reference: '#e5e5e5' } as const;

const signed = ({ value, digits }: GainBar): string =>
  `${value < 0 ? '−' : '+'}${fixed(Math.abs(value), digits)}`;

/** Gains by language and method (the follow-up's Fig. 2) as in the report; panels share one scale. */
export const GainsPicture = ({ title, subtitle, panels }: GainsPicture) => {
  const all = panels.flatMap(({ bars }) => bars);
  const ends = [0, ...all.flatMap(({ value, interval }) => [value, ...(interval ?? [])])];
  const across = Math.min(3, panels.length);
  const most = Math.max(...panels.map(({ bars }) => bars.length));
  const panelHeight = 30 + step * most;
  const down = Math.ceil(panels.length / across);
  const x = scaleLinear()
    .domain([Math.min(...ends), Math.max(...ends)])
    .range([0, panelWidth - figures]);
  return (
    <Picture
      {...{ title, subtitle, left }}
      description={panels
        .map(
          (panel) => `${panel.title}: ${panel.bars.map((bar) => `${bar.label} ${signed(bar)}`).join(', ')}`,
        )
        .join('; ')}
      width={2 * left + across * panelWidth + (across - 1) * gutter}
      height={top + down * panelHeight + 30}
    >
      {panels.map((panel, at) => {
        const place = `translate(${left + (at % across) * (panelWidth + gutter)} ${top + Math.floor(at / across) * panelHeight})`;
        return (
          <g key={panel.title} transform={place}>
            <text y={10} font-size={12} font-weight={600}>
              {panel.title}
            </text>
            {panel.bars.map((bar, index) => {
              const y = 22 + step * index;
              const middle = y + 16 + barHeight / 2;
              const [low, high] = (bar.interval ?? [bar.value, bar.value]).map((end) => tenths(x(end)));
              return (
                <g key={bar.label}>
                  <text y={y + 10} font-size={11}>
                    {bar.label}
                  </text>
                  <rect
                    x={tenths(Math.min(x(0), x(bar.value)))}
                    y={y + 16}
                    width={tenths(Math.abs(x(bar.value) - x(0)))}
                    height={barHeight}
                    fill={bar.isReference ? fills.reference : fills.merged}
                    stroke={bar.isReference ? ink.frame : fills.merged}
                  />
                  <path d={`M${tenths(x(0))} ${y + 14}v${barHeight + 4}`} stroke={ink.soft} />
                  {bar.interval === undefined ? null : (
                    <path
                      d={`M${low} ${middle}H${high}M${low} ${middle - 3}v6M${high} ${middle - 3}v6`}
                      stroke={ink.text}
                      fill="none"
                    />
                  )}
                  <text x={panelWidth} y={middle + 4} font-size={11} text-anchor="end">
                    {signed(bar)}
                  </text>
                </g>
              );
            })}
          </g>
        );
      })}
      <g transform={`translate(${left} ${top + down * panelHeight + 6})`} font-size={10} fill={ink.soft}>
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
