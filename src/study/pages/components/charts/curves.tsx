import { scaleLinear } from 'd3-scale';
import { useState } from 'preact/hooks';
import { groupBy } from '../../../../core/base/errors/lookup.js';
import { fixed } from '../../../scores/reading/score-table.js';
import { tenths } from '../../pictures/picture.js';
import type { PageTable, ReportData } from '../data/data.js';
import { rangeOf } from '../data/heat.js';
import { named } from '../data/results.js';
import { Choice, SaveSvg, Section } from './section.js';

const [width, height] = [340, 230];
const margin = { left: 40, right: 10, top: 10, bottom: 36 };

/** Dashes distinguish the lines without colour. */
const kinds = [
  { id: 'task', label: 'task experts alone', style: 'line-task', dash: undefined },
  { id: 'language', label: 'language experts alone', style: 'line-language', dash: '7 3' },
  { id: 'both', label: 'both experts of a pair', style: 'line-sign', dash: '2 3' },
] as const;

type Kind = (typeof kinds)[number];

interface Place {
  readonly alpha: number;
  readonly value: number;
}

interface Point extends Place {
  readonly text: string;
}

interface Line {
  readonly id: string;
  readonly label: string;
  readonly kind: Kind;
  /** True for the mean, and for the only line of its kind. */
  readonly isWhole: boolean;
  readonly points: readonly Point[];
}

const curveTables = ({ tables }: ReportData): PageTable[] =>
  tables.filter(({ id }) => /^alpha(\/|$)/.test(id) && !id.endsWith('/differences'));

export const hasCurves = (data: ReportData): boolean => curveTables(data).length > 0;

/** Lines by language, from rows `LANGUAGE/KIND` and `LANGUAGE/KIND/MEMBER`, and columns of α. */
const linesOf = ({ rows, columns }: PageTable): ReadonlyMap<string, Line[]> => {
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

const LineKey = ({ style, dash }: Pick<Kind, 'style' | 'dash'>) => (
  <svg viewBox="0 0 26 8" width="26" height="8" aria-hidden="true">
    <path class={`line ${style}`} d="M0 4h26" stroke-width={2} stroke-dasharray={dash} />
  </svg>
);

/**
 * The straight line through the base and α = 1, which gains proportional to α follow; undefined without both
 * points.
 */
const straight = ({ points }: Line): readonly [from: Place, to: Place] | undefined => {
  const at = (alpha: number) => points.find((point) => point.alpha === alpha)?.value;
  const [none, whole] = [at(0), at(1)];
  if (none === undefined || whole === undefined) return undefined;
  const last = Math.max(1, points.at(-1)?.alpha ?? 1);
  return [
    { alpha: 0, value: none },
    { alpha: last, value: none + last * (whole - none) },
  ];
};

const Panel = ({ title, lines }: { title: string; lines: readonly Line[] }) => {
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
  const words = whole.map(
    (line) => `${line.kind.label} ${line.points.map(({ alpha, text }) => `${text} at ${alpha}`).join(', ')}`,
  );
  return (
    <figure>
      <figcaption>
        <b>{title}</b>
      </figcaption>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        width={width}
        height={height}
        role="img"
        aria-label={`${title}: score by α: ${words.join('; ')}`}
      >
        {y.ticks(5).map((tick) => (
          <g key={tick}>
            <path class="rule" d={`M${margin.left} ${tenths(y(tick))}H${width - margin.right}`} />
            <text class="tick" x={margin.left - 6} y={tenths(y(tick) + 4)} text-anchor="end">
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
          >
            {tick}
          </text>
        ))}
        <text class="axis" x={width - margin.right} y={height - 4} text-anchor="end">
          α →
        </text>
        <g fill="none">
          {straights.map(({ line, ends }) => (
            <path
              key={line.id}
              class={`line ${line.kind.style}`}
              d={path(ends)}
              stroke-width={1.1}
              opacity={0.85}
            />
          ))}
          {lines.map((line) => (
            <path
              key={line.id}
              class={`line ${line.kind.style}`}
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
              cx={tenths(x(alpha))}
              cy={tenths(y(value))}
              r={3}
            >
              <title>{`${line.label}, α = ${alpha}: ${text}`}</title>
            </circle>
          )),
        )}
      </svg>
      <SaveSvg name={`linearity ${title}`} />
    </figure>
  );
};

export const Curves = ({ data }: { data: ReportData }) => {
  const tables = curveTables(data);
  const [id, setId] = useState(tables[0]?.id ?? '');
  const table = tables.find((of) => of.id === id);
  if (table === undefined) return null;
  const lines = linesOf(table);
  const used = kinds.filter((kind) => [...lines.values()].flat().some((line) => line.kind === kind));
  const hasMembers = [...lines.values()].flat().some(({ isWhole }) => !isWhole);
  return (
    <Section
      id="alpha"
      title="Scores along task vectors"
      lead="Score of base + α·τ. The straight line goes through the base and α = 1: where gains are proportional to α, the curve follows it."
    >
      {tables.length < 2 ? null : (
        <div class="choices controls">
          <Choice
            label="Benchmark"
            value={id}
            options={tables.map((of) => ({ value: of.id, label: of.title.replace(/:.*/, '') }))}
            choose={setId}
          />
        </div>
      )}
      <p class="key">
        {used.map((kind) => (
          <span key={kind.id} class="entry">
            <LineKey {...kind} /> {kind.label}
          </span>
        ))}
        {hasMembers ? 'Thin: each expert or pair; bold: their mean.' : null}
      </p>
      <div class="figures">
        {[...lines].map(([language, of]) => (
          <Panel key={language} title={named(language)} lines={of} />
        ))}
      </div>
      <p class="none">
        The numbers are in the table “{table.title}”, and how far gains are from linear in “
        {table.title.replace(/scores along/, 'linearity of')}”.
      </p>
    </Section>
  );
};
