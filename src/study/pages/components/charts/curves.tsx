import { useState } from 'preact/hooks';
import { capitalised } from '../../../../core/base/format.js';
import {
  type CurveLine,
  CurveLines,
  describeCurves,
  height,
  kinds,
  linesOf,
  width,
} from '../../pictures/curves.js';
import type { PageTable, ReportData } from '../data/data.js';
import { Choice, SavedFigure, Section } from './section.js';

const curveTables = ({ tables }: ReportData): PageTable[] =>
  tables.filter(({ id }) => /^alpha(\/|$)/.test(id) && !id.endsWith('/differences'));

export const hasCurves = (data: ReportData): boolean => curveTables(data).length > 0;

const LineKey = ({ style, dash }: Pick<(typeof kinds)[number], 'style' | 'dash'>) => (
  <svg viewBox="0 0 26 8" width="26" height="8" aria-hidden="true">
    <path class={`line ${style}`} d="M0 4h26" stroke-width={2} stroke-dasharray={dash} />
  </svg>
);

const Panel = ({ title, lines }: { title: string; lines: readonly CurveLine[] }) => (
  <SavedFigure
    {...{ title, width, height }}
    label={`${title}: score by α: ${describeCurves(lines)}`}
    name={`linearity ${title}`}
  >
    <CurveLines lines={lines} />
  </SavedFigure>
);

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
      lead="Score of base + α·τ. The straight line goes through the base and α = 1. The curve follows this line if gains are proportional to α."
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
          <Panel key={language} title={capitalised(language)} lines={of} />
        ))}
      </div>
      <p class="none">
        The numbers are in the table “{table.title}”, and how far gains are from linear in “
        {table.title.replace(/scores along/, 'linearity of')}”.
      </p>
    </Section>
  );
};
