import { Curves, hasCurves } from './charts/curves.js';
import { Gains, hasGains } from './charts/gains.js';
import { Grids } from './charts/grids.js';
import { hasMatrices, Matrices } from './charts/matrices.js';
import { Overlaps, TopOverlaps, topLead } from './charts/overlaps.js';
import { hasScatter, Scatter } from './charts/scatter.js';
import { Lines, Section } from './charts/section.js';
import type { Fact, ReportData } from './data/data.js';
import { hasScores } from './data/results.js';
import { Shell } from './shell.js';
import { DataTable } from './tables/data-table.js';
import { Experts } from './tables/experts.js';
import { Merges } from './tables/merges.js';
import { Proposals, proposalsLead } from './tables/proposals.js';

const Facts = ({ facts }: { facts: readonly Fact[] }) => (
  <dl class="facts">
    {facts.map(({ label, value }) => (
      <div key={label}>
        <dt>{label}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

const Tables = ({ data }: { data: ReportData }) => {
  const others = data.tables.filter((_, index) => index !== data.headline);
  return others.length === 0 ? null : (
    <Section id="tables" title="Tables" lead="Click a heading to sort. ± is a standard error.">
      {others.map((table) => (
        <details key={table.id}>
          <summary>
            <h3>{table.title}</h3>{' '}
            <span class="none">
              {table.rows.length} {table.rows.length === 1 ? 'row' : 'rows'}
            </span>
          </summary>
          <DataTable table={table} />
        </details>
      ))}
    </Section>
  );
};

const Provenance = ({ data }: { data: ReportData }) => (
  <Section id="provenance" title="Provenance">
    <Facts facts={data.provenance} />
    {data.omitted.length === 0 ? null : (
      <>
        <h3>Left out of this page</h3>
        <Lines of={data.omitted} />
      </>
    )}
    {data.inputs.length === 0 ? null : (
      <details>
        <summary>
          <h3>Inputs</h3> <span class="none">{data.inputs.length} models</span>
        </summary>
        <Facts facts={data.inputs} />
      </details>
    )}
    <h3>To reproduce this page</h3>
    <pre class="commands">{data.commands.join('\n')}</pre>
    {data.warnings.length === 0 ? null : (
      <>
        <h3>Warnings</h3>
        <Lines of={data.warnings} />
      </>
    )}
  </Section>
);

const Contents = ({ data }: { data: ReportData }) => {
  const sections = [
    { id: 'headline', label: 'Result', shown: true },
    { id: 'tables', label: 'Tables', shown: data.tables.length > (data.headline === null ? 0 : 1) },
    { id: 'gains', label: 'Gains', shown: hasGains(data) },
    { id: 'alpha', label: 'Linearity', shown: hasCurves(data) },
    { id: 'pairs', label: 'Pairs', shown: hasMatrices(data) },
    { id: 'configurations', label: 'Configurations', shown: data.grids.length > 0 },
    { id: 'cost', label: 'Cost', shown: hasScatter(data) },
    { id: 'experts', label: 'Experts', shown: data.analysis !== null },
    { id: 'merges', label: 'Merges', shown: data.models.length > 0 },
    { id: 'regressions', label: 'Regressions', shown: data.regressions !== null },
    { id: 'provenance', label: 'Provenance', shown: true },
  ];
  return (
    <nav class="contents" aria-label="Contents">
      <ul>
        <li>
          <a class="name" href="#page">
            {data.title}
          </a>
        </li>
        {sections
          .filter(({ shown }) => shown)
          .map(({ id, label }) => (
            <li key={id}>
              <a href={`#${id}`}>{label}</a>
            </li>
          ))}
      </ul>
    </nav>
  );
};

const nothingToSay = (data: ReportData, merges: number): string => {
  if (!hasScores(data))
    return merges === 0
      ? 'No scores yet.'
      : `No scores yet: this page shows the ${merges} merges, their layers and their cost.`;
  return merges === 0
    ? 'The models were scored without an experiment. The tables show their scores, and compare each two models.'
    : 'The merges are not compared with single models. The tables show all scores.';
};

export const ReportPage = ({ data }: { data: ReportData }) => {
  const headline = data.headline === null ? undefined : data.tables[data.headline];
  const merges = data.models.filter(({ role }) => role === 'merge').length;
  return (
    <>
      <a class="skip" href="#headline">
        To the result
      </a>
      <Shell
        kicker={merges === 0 ? 'Scores of models' : 'Merging experiment'}
        title={data.title}
        about={
          <p class="none">
            {[
              merges === 0 ? `${data.models.length} models` : `${merges} merges`,
              ...(data.languages.length === 0 ? [] : [data.languages.join(', ')]),
              data.written.slice(0, 10),
            ].join(' · ')}
          </p>
        }
        contents={<Contents data={data} />}
        footer={`layerloom ${data.layerloom}, ${data.written}.`}
      >
        <Section id="headline" title="Result">
          <p class="sentence">{data.sentence ?? nothingToSay(data, merges)}</p>
          {data.verdicts === null ? null : <DataTable table={data.verdicts} />}
          {headline === undefined ? null : (
            <>
              <h3>{headline.title}</h3>
              <DataTable table={headline} />
            </>
          )}
        </Section>
        <Tables data={data} />
        <Gains data={data} />
        <Curves data={data} />
        <Matrices data={data} />
        <Grids data={data} />
        <Scatter data={data} />
        {data.analysis === null ? null : (
          <Section
            id="experts"
            title="What each expert changed"
            lead={`Changes from ${data.analysis.base}, by layer and matrix.`}
          >
            <Experts analysis={data.analysis} />
            {data.analysis.proposals.length === 0 ? null : (
              <>
                <h3>Proposed swaps</h3>
                <p class="lead">{proposalsLead}</p>
                <Proposals proposals={data.analysis.proposals} />
              </>
            )}
            {data.analysis.overlaps.length === 0 ? null : (
              <>
                <h3>Overlap of the experts' changes</h3>
                <Overlaps {...data.analysis} />
              </>
            )}
            {data.analysis.topOverlaps.length === 0 ? null : (
              <>
                <h3>Overlap of the largest changes</h3>
                <p class="none">{topLead(data.analysis)}</p>
                <TopOverlaps {...data.analysis} />
              </>
            )}
          </Section>
        )}
        <Merges data={data} />
        {data.regressions === null ? null : (
          <Section
            id="regressions"
            title="Regressions"
            lead="Merges that score below the base in a task, and whether the difference is more than chance, given their number."
          >
            {data.regressions.rows.length === 0 ? (
              <p>{data.regressions.caption}</p>
            ) : (
              <DataTable table={data.regressions} />
            )}
          </Section>
        )}
        <Provenance data={data} />
      </Shell>
    </>
  );
};
