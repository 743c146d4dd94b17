import { HeatTable } from './charts/heat-table.js';
import { Section } from './charts/section.js';
import type { PageComparison } from './data/data.js';
import { twoDigits } from './data/numbers.js';
import { DataTable } from './tables/data-table.js';
import { ThemeChoice } from './theme.js';

export const ComparisonPage = ({ data }: { data: PageComparison }) => (
  <div class="shell">
    <header class="top">
      <div>
        <p class="kicker">Comparison of two models</p>
        <h1>
          {data.a.name} and {data.b.name}
        </h1>
        <p>{data.verdict}</p>
        <p class="none">
          A: {data.a.path}
          <br />
          B: {data.b.path}
        </p>
      </div>
      <ThemeChoice />
    </header>
    <main>
      {data.cells.length === 0 ? null : (
        <Section
          id="layers"
          title="Layers"
          lead="Relative difference ‖a − b‖ / ‖a‖ of each tensor; the largest where a cell has several. ≠: one differs and has no such number (it has another shape, or is in one model only). Empty: the layer has no such tensor."
        >
          <HeatTable
            name="‖a − b‖ / ‖a‖"
            caption="by layer and module"
            columns={data.columns.map((label) => ({ label, title: label }))}
            cells={data.cells}
            most={data.most}
            show={twoDigits}
          />
        </Section>
      )}
      <Section id="tensors" title="Tensors">
        <DataTable table={data.tensors} />
      </Section>
      {data.sideFiles.length === 0 ? null : (
        <Section id="files" title="Files beside the weights">
          <ul class="notes">
            {data.sideFiles.map(({ label, value }) => (
              <li key={label}>
                {label}: {value}
              </li>
            ))}
          </ul>
        </Section>
      )}
    </main>
    <footer>One file, which needs no network.</footer>
  </div>
);
