import { Overlaps, TopOverlaps, topLead } from './charts/overlaps.js';
import { Section } from './charts/section.js';
import type { PageAnalysis } from './data/data.js';
import { showThresholds } from './data/numbers.js';
import { Shell } from './shell.js';
import { analysedThresholds, Experts } from './tables/experts.js';
import { Proposals, proposalsLead } from './tables/proposals.js';

export const AnalysisPage = ({ data }: { data: PageAnalysis }) => (
  <Shell
    kicker="Changes by fine-tuning"
    title={data.experts.map(({ name }, index) => (
      <>
        <span class="whole">
          {name}
          {index < data.experts.length - 1 ? ',' : ''}
        </span>{' '}
      </>
    ))}
    about={
      <p class="none">
        changes from {data.base}, by layer and matrix · {data.rows} rows
      </p>
    }
    footer={`The sliders have ${data.stops.length} thresholds. For each of them, rows were counted from the MAV of every row, so every value is exact.`}
  >
    <Section id="experts" title="What each expert changed">
      <Experts analysis={data} />
    </Section>
    {data.proposals.length === 0 ? null : (
      <Section id="proposals" title="Proposed swaps" lead={proposalsLead}>
        <Proposals proposals={data.proposals} />
      </Section>
    )}
    {data.overlaps.length === 0 ? null : (
      <Section
        id="overlaps"
        title="Overlap of the experts' changes"
        lead={`Cosine: cosine of the angle between the two task vectors. Sign agreement: share of the elements changed by both experts whose changes have the same sign. Rows above in both: share of rows whose MAV is above the threshold in both experts: ${showThresholds(analysedThresholds(data))}.`}
      >
        <Overlaps {...data} />
      </Section>
    )}
    {data.topOverlaps.length === 0 ? null : (
      <Section id="largest" title="Overlap of the largest changes" lead={topLead(data)}>
        <TopOverlaps {...data} />
      </Section>
    )}
  </Shell>
);
