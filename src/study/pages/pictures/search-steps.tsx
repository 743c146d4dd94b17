import type { ScaleLinear } from 'd3-scale';
import { groupBy, itemAt } from '../../../core/base/errors/lookup.js';
import type { SearchRecord } from '../../search/run-search.js';
import type { Candidate, SearchStep } from '../../search/space/trace.js';
import { ink, tenths } from './picture.js';
import { colours, plot } from './search-plot.js';

interface Dot {
  readonly candidate: Candidate;
  readonly mean: number;
  readonly x: number;
  readonly y: number;
}

export interface StepColumn {
  readonly step: SearchStep;
  readonly from: number;
  readonly middle: number;
  readonly to: number;
  readonly dots: readonly Dot[];
}

const dotDistance = 6.6;

export const columnsOf = (
  steps: readonly SearchStep[],
  x: ScaleLinear<number, number>,
  y: ScaleLinear<number, number>,
): StepColumn[] =>
  steps.map((step, index) => {
    const [from, middle, to] = [x(index), x(index + 0.5), x(index + 1)];
    const scored = step.candidates.flatMap((candidate) =>
      candidate.mean === null ? [] : { candidate, mean: candidate.mean, y: y(candidate.mean) },
    );
    const rows = groupBy(scored, (dot) => Math.round(dot.y / dotDistance));
    const dots = [...rows.values()].flatMap((row) => {
      const distance = Math.min(dotDistance, (0.8 * (to - from)) / row.length);
      return row.map((dot, place) => ({ ...dot, x: middle + (place - (row.length - 1) / 2) * distance }));
    });
    return { step, from, middle, to, dots };
  });

const colourOf = (search: SearchRecord, { kept }: SearchStep, { name }: Candidate): string => {
  if (name === search.choice) return colours.choice;
  if (name === search.default) return colours.standard;
  return kept.includes(name) ? colours.kept : colours.dropped;
};

type StepProps = { search: SearchRecord; column: StepColumn; format: (value: number) => string };

/** Draws a step's dots: the choice and the default last, so that they are on top. */
export const Step = ({ search, column: { step, to, dots }, format }: StepProps) => {
  const rank = ({ candidate: { name } }: Dot) => [search.default, search.choice].indexOf(name);
  const isKept = ({ candidate: { name } }: Dot) => Number(step.kept.includes(name));
  return (
    <g>
      <path d={`M${tenths(to)} ${plot.top}V${plot.bottom}`} stroke={ink.rule} />
      {dots
        .toSorted((a, b) => rank(a) - rank(b) || isKept(a) - isKept(b))
        .map((dot) => (
          <circle
            key={dot.candidate.name}
            cx={tenths(dot.x)}
            cy={tenths(dot.y)}
            r={rank(dot) >= 0 ? 4.8 : 3.2}
            fill={colourOf(search, step, dot.candidate)}
            stroke="#fff"
            stroke-width={0.8}
          >
            <title>{`${dot.candidate.name}: ${format(dot.mean)} of ${dot.candidate.problems} problems`}</title>
          </circle>
        ))}
    </g>
  );
};

type LinesBetweenProps = { search: SearchRecord; columns: readonly StepColumn[] };

export const LinesBetween = ({ search, columns }: LinesBetweenProps) => (
  <g fill="none">
    {columns.slice(1).flatMap(({ step, dots }, index) => {
      const former = itemAt(columns, index);
      const before = new Map(former.dots.map((dot) => [dot.candidate.name, dot]));
      return dots.map(({ candidate, x, y }) => {
        const from = before.get(candidate.name);
        if (from === undefined || !former.step.kept.includes(candidate.name)) return null;
        const isMarked = candidate.name === search.choice || candidate.name === search.default;
        return (
          <path
            key={`${index} ${candidate.name}`}
            d={`M${tenths(from.x)} ${tenths(from.y)}L${tenths(x)} ${tenths(y)}`}
            stroke={isMarked ? colourOf(search, step, candidate) : colours.line}
            stroke-width={isMarked ? 2 : 0.9}
          />
        );
      });
    })}
  </g>
);

export const StepLabels = ({ columns }: { columns: readonly StepColumn[] }) => (
  <g>
    {columns.flatMap(({ step, middle }) =>
      [
        step.title,
        `${step.candidates.length} configurations`,
        `first ${step.limit} problems`,
        `${step.spent.toLocaleString('en')} spent`,
      ].map((label, line) => (
        <text
          key={`${step.title} ${label}`}
          x={tenths(middle)}
          y={plot.bottom + 20 + 15 * line}
          font-size={10.5}
          text-anchor="middle"
          {...(line === 0 ? { 'font-weight': 600 } : { fill: ink.soft })}
        >
          {label}
        </text>
      )),
    )}
  </g>
);
