import { useState } from 'preact/hooks';
import { baselines, describePanel, GainBars, heightOf, panelsOf, scaleOf } from '../../pictures/gains.js';
import type { PageTable, ReportData } from '../data/data.js';
import { Choice, SavedFigure, Section } from './section.js';

const [width, left] = [340, 4] as const;

const gainTables = ({ tables }: ReportData): PageTable[] =>
  tables.filter(({ id }) => id === 'gains' || id.startsWith('gains/'));

export const hasGains = (data: ReportData): boolean => gainTables(data).length > 0;

/** Charts of gains (the follow-up's Fig. 2). */
export const Gains = ({ data }: { data: ReportData }) => {
  const tables = gainTables(data);
  const [id, setId] = useState(tables[0]?.id ?? '');
  const [baseline, setBaseline] = useState<string>('base');
  const table = tables.find((of) => of.id === id);
  if (table === undefined) return null;
  const panels = panelsOf(table, baseline);
  const x = scaleOf(panels, left, width);
  return (
    <Section
      id="gains"
      title="Gain by language and method"
      lead="Mean score over pairs, or over models trained without merging, minus the score chosen below. Positive is better. Lines are 95 % intervals."
    >
      <div class="choices controls">
        <Choice
          label="Gain over"
          value={baseline}
          options={Object.entries(baselines)
            .map(([value, label]) => ({ value, label }))
            .filter(({ value }) => panelsOf(table, value).length > 0)}
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
        {panels.map((panel) => (
          <SavedFigure
            key={panel.title}
            {...{ title: panel.title, width, height: heightOf(panel.bars) }}
            label={describePanel(panel)}
            name={`gain ${panel.title}`}
          >
            <GainBars {...{ bars: panel.bars, x, left, top: 6, width }} />
          </SavedFigure>
        ))}
      </div>
      <p class="none">All panels have the same scale. The numbers are in the table “{table.title}”.</p>
    </Section>
  );
};
