import { HeatTable } from './charts/heat-table.js';
import { Lines, Section } from './charts/section.js';
import type { PageComparison } from './data/data.js';
import { twoDigits } from './data/numbers.js';
import { Shell } from './shell.js';
import { DataTable } from './tables/data-table.js';

export const ComparisonPage = ({ data }: { data: PageComparison }) => (
  <Shell
    kicker="Comparison of two models"
    title={`${data.a.name} and ${data.b.name}`}
    about={
      <>
        <p>{data.verdict}</p>
        <p class="none">
          A: {data.a.path}
          <br />
          B: {data.b.path}
        </p>
      </>
    }
    footer=""
  >
    {data.cells.length === 0 ? null : (
      <Section
        id="layers"
        title="Layers"
        lead="Relative difference ‖a − b‖ / ‖a‖ of each tensor; if a cell has several tensors, the largest. ≠: a tensor differs, but the difference has no number (it has another shape, or is only in one model). Empty: the layer has no such tensor."
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
        <Lines of={data.sideFiles.map(({ label, value }) => `${label}: ${value}`)} kind="notes" />
      </Section>
    )}
  </Shell>
);
