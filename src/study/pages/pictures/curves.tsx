import { scaleLinear } from 'd3-scale';
import { groupBy } from '../../../core/base/errors/lookup.js';
import { fixed } from '../../scores/reading/score-table.js';
import type { PageTable } from '../components/data/data.js';
import { rangeOf } from '../components/data/heat.js';
import { Line } from './overlap.js';
import { ink, Picture, tenths } from './picture.js';

export const [width, height] = [340, 230];
const margin = { left: 40, right: 10, top: 10, bottom: 36 };

/** Line styles differ in dashes too, so that they can be told apart without colour. */
export const kinds = [
  { id: 'task', label: 'task experts alone', style: 'line-task', colour: '#0b3c5d', dash: undefined },
  { id: 'language', label: 'language experts alone', style: 'line-language', colour: '#3fa28c', dash: '7 3' },
  { id: 'both', label: 'both experts of a pair', style: 'line-sign', colour: '#b0560f', dash: '2 3' },
] as const;

type Kind = (typeof kinds)[number];

interface Place {
  readonly alpha: number;
  readonly value: number;
}

interface Point extends Place {
  readonly text: string;
}

export interface CurveLine {
  readonly id: string;
  readonly label: string;
  readonly kind: Kind;
  /** True for the mean line, and for the only line of a kind. */
  readonly isWhole: boolean;
  readonly points: readonly Point[];
}

/** Returns lines by language, from rows `LANGUAGE/KIND` and `LANGUAGE/KIND/MEMBER`, and columns of α. */
export const linesOf = ({
  rows,
  columns,
}: Pick<PageTable, 'rows' | 'columns'>): ReadonlyMap<string, CurveLine[]> => {
  const ids = new Set(rows.map(({ id }) => id));
  const lines = rows.flatMap(({ id, label, cells }) => {
    const [language = '', kindId, member] = id.split('/');
    const kind = kinds.find((of) => of.id === kindId);
    if (kind === undefined) return [];
    const points = columns.flatMap((column, at): Point[] => {
      const cell = cells[at] ?? null;
      return cell === null || typeof cell.value === 'string'
        ? []
        : [{ alpha: Number(column.id), value: cell.value, text: fixed(cell.value, cell.digits) }];
    });
    const isWhole = member === undefined || !ids.has(`${language}/${kind.id}`);
    return [{ language, line: { id, label, kind, isWhole, points } }];
  });
  return new Map(
    [...groupBy(lines, ({ language }) => language)].map(([language, of]) => [
      language,
      of.map(({ line }) => line),
    ]),
  );
};

/** Returns the line through the base and α = 1, where proportional gains lie; undefined without a point. */
const straight = ({ points }: CurveLine): readonly [from: Place, to: Place] | undefined => {
  const at = (alpha: number) => points.find((point) => point.alpha === alpha)?.value;
  const [none, whole] = [at(0), at(1)];
  if (none === undefined || whole === undefined) return undefined;
  const last = Math.max(1, points.at(-1)?.alpha ?? 1);
  return [
    { alpha: 0, value: none },
    { alpha: last, value: none + last * (whole - none) },
  ];
};

const small = { 'font-size': 10, fill: ink.soft } as const;

/** Language's curves, for pages and files. A page's style sheet overrides the colours. */
export const CurveLines = ({ lines }: { lines: readonly CurveLine[] }) => {
  const whole = lines.filter(({ isWhole }) => isWhole);
  const straights = whole.flatMap((line) => {
    const ends = straight(line);
    return ends === undefined ? [] : [{ line, ends }];
  });
  const drawn = [...lines.flatMap(({ points }) => points), ...straights.flatMap(({ ends }) => ends)];
  const x = scaleLinear()
    .domain(rangeOf(drawn.map(({ alpha }) => alpha)))
    .range([margin.left, width - margin.right]);
  const y = scaleLinear()
    .domain(rangeOf(drawn.map(({ value }) => value)))
    .nice(5)
    .range([height - margin.bottom, margin.top]);
  const path = (places: readonly Place[]) =>
    `M${places.map(({ alpha, value }) => `${tenths(x(alpha))} ${tenths(y(value))}`).join('L')}`;
  return (
    <>
      {y.ticks(5).map((tick) => (
        <g key={tick}>
          <path
            class="rule"
            stroke={ink.rule}
            d={`M${margin.left} ${tenths(y(tick))}H${width - margin.right}`}
          />
          <text class="tick" x={margin.left - 6} y={tenths(y(tick) + 4)} text-anchor="end" {...small}>
            {tick}
          </text>
        </g>
      ))}
      {x.ticks(5).map((tick) => (
        <text
          key={tick}
          class="tick"
          x={tenths(x(tick))}
          y={height - margin.bottom + 16}
          text-anchor="middle"
          {...small}
        >
          {tick}
        </text>
      ))}
      <text class="axis" x={width - margin.right} y={height - 4} text-anchor="end" {...small}>
        α →
      </text>
      <g fill="none">
        {straights.map(({ line, ends }) => (
          <path
            key={line.id}
            class={`line ${line.kind.style}`}
            stroke={line.kind.colour}
            d={path(ends)}
            stroke-width={1.1}
            opacity={0.85}
          />
        ))}
        {lines.map((line) => (
          <path
            key={line.id}
            class={`line ${line.kind.style}`}
            stroke={line.kind.colour}
            d={path(line.points)}
            stroke-width={line.isWhole ? 2.2 : 0.8}
            stroke-dasharray={line.isWhole ? line.kind.dash : undefined}
            opacity={line.isWhole ? 1 : 0.25}
          >
            <title>{line.label}</title>
          </path>
        ))}
      </g>
      {whole.flatMap((line) =>
        line.points.map(({ alpha, value, text }) => (
          <circle
            key={`${line.id} ${alpha}`}
            class={`line ${line.kind.style}`}
            fill={line.kind.colour}
            stroke={line.kind.colour}
            cx={tenths(x(alpha))}
            cy={tenths(y(value))}
            r={3}
          >
            <title>{`${line.label}, α = ${alpha}: ${text}`}</title>
          </circle>
        )),
      )}
    </>
  );
};

export const describeCurves = (lines: readonly CurveLine[]): string =>
  lines
    .filter(({ isWhole }) => isWhole)
    .map(
      ({ kind, points }) =>
        `${kind.label} ${points.map(({ alpha, text }) => `${text} at ${alpha}`).join(', ')}`,
    )
    .join('; ');

export interface CurvesPicture {
  readonly title: string;
  readonly subtitle: string;
  readonly lines: readonly CurveLine[];
}

export const CurvesPicture = ({ title, subtitle, lines }: CurvesPicture) => {
  const used = kinds.filter((kind) => lines.some((line) => line.kind === kind));
  const [top, legend] = [60, 60 + height + 14] as const;
  return (
    <Picture
      {...{ title, subtitle, width: width + 40 }}
      description={describeCurves(lines)}
      left={margin.left}
      height={legend + 16 * used.length}
    >
      <g transform={`translate(0 ${top})`}>
        <CurveLines lines={lines} />
      </g>
      {used.map((kind, at) => (
        <g key={kind.id}>
          <Line measure={kind} d={`M${margin.left} ${legend + 16 * at}h24`} />
          <text x={margin.left + 30} y={legend + 16 * at + 4} font-size={10}>
            {kind.label}
          </text>
        </g>
      ))}
    </Picture>
  );
};
