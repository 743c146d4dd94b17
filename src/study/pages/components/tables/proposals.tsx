import { Lines, Table } from '../charts/section.js';
import type { PageAnalysis } from '../data/data.js';

const Layers = ({ count, range: [fewest, most] }: { count: number; range: readonly [number, number] }) => (
  <>
    {count} <span class="none">({fewest === most ? fewest : `${fewest}–${most}`})</span>
  </>
);

const share = (of: number): string => `${(100 * of).toFixed(1)} %`;

export const proposalsLead =
  'The paper’s default, shifted to layers in which the largest changes of the language expert outweigh those of the task expert: a heuristic, not a score. In brackets: the minimum and maximum number of layers that these changes suggest.';

export const Proposals = ({ proposals }: Pick<PageAnalysis, 'proposals'>) => {
  const warnings = proposals.flatMap((proposal) => proposal.warnings);
  return (
    <>
      <Table
        label="Layers proposed for each pair"
        caption="Layers from the language expert, and the share of its largest changes that each expert keeps"
        heads={['Pair', 'Bottom', 'Top', 'Task keeps', 'Language gives']}
        rows={proposals.map(({ task, language, bottom, top, bottomRange, topRange, kept }) => [
          `${task} and ${language}`,
          <Layers key="bottom" count={bottom} range={bottomRange} />,
          <Layers key="top" count={top} range={topRange} />,
          share(kept.task),
          share(kept.language),
        ])}
      />
      {warnings.length === 0 ? null : <Lines of={warnings.map((warning) => `${warning}.`)} kind="notes" />}
      <details>
        <summary>Commands</summary>
        <pre class="commands">{proposals.map(({ command }) => command).join('\n')}</pre>
      </details>
    </>
  );
};
