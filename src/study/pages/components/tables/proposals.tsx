import { Caption, Heads, Wide } from '../charts/section.js';
import type { PageAnalysis, PageProposal } from '../data/data.js';

const range = ([fewest, most]: readonly [number, number]): string =>
  fewest === most ? `${fewest}` : `${fewest}–${most}`;

const share = (of: number): string => `${(100 * of).toFixed(1)} %`;

export const proposalsLead =
  'The paper’s default, moved to where the largest changes of the language expert outweigh those of the task expert: a heuristic, not a score. In brackets the fewest and the most layers that the changes speak for.';

const Row = ({ proposal }: { proposal: PageProposal }) => {
  const { task, language, bottom, top, bottomRange, topRange, kept } = proposal;
  return (
    <tr>
      <th scope="row">
        {task} and {language}
      </th>
      <td>
        {bottom} <span class="none">({range(bottomRange)})</span>
      </td>
      <td>
        {top} <span class="none">({range(topRange)})</span>
      </td>
      <td>{share(kept.task)}</td>
      <td>{share(kept.language)}</td>
    </tr>
  );
};

export const Proposals = ({ proposals }: Pick<PageAnalysis, 'proposals'>) => {
  const warnings = proposals.flatMap((proposal) => proposal.warnings);
  return (
    <>
      <Wide label="Layers proposed for each pair">
        <table>
          <Caption>
            Layers from the language expert, and what of its largest changes each expert keeps
          </Caption>
          <Heads of={['Pair', 'Bottom', 'Top', 'Task keeps', 'Language gives']} />
          <tbody>
            {proposals.map((proposal) => (
              <Row key={`${proposal.task}\n${proposal.language}`} {...{ proposal }} />
            ))}
          </tbody>
        </table>
      </Wide>
      {warnings.length === 0 ? null : (
        <ul class="notes">
          {warnings.map((warning) => (
            <li key={warning}>{warning}.</li>
          ))}
        </ul>
      )}
      <details>
        <summary>Commands</summary>
        <pre class="commands">{proposals.map(({ command }) => command).join('\n')}</pre>
      </details>
    </>
  );
};
