import { describeOverlap, Line, measures, OverlapPlot, plotSize, showMeasure } from '../pictures/overlap.js';
import type { OverlapFigures, PageOverlap } from './data.js';
import { Wide } from './section.js';

const Picture = ({ overlap }: { overlap: PageOverlap }) => {
  const { width, height } = plotSize(overlap);
  return (
    <svg
      viewBox={`0 0 ${width} ${height + 12}`}
      width={width}
      height={height + 12}
      role="img"
      aria-label={`${describeOverlap(overlap)}. The numbers follow as a table.`}
    >
      <OverlapPlot {...{ overlap }} top={12} />
    </svg>
  );
};

const cells = (part: OverlapFigures) =>
  measures.map(({ key }) => <td key={key}>{showMeasure(part[key])}</td>);

/** Overlap of the changes of each pair of experts: a picture, and its numbers. */
export const Overlaps = ({ overlaps }: { overlaps: readonly PageOverlap[] }) => (
  <>
    <p class="key">
      {measures.map((measure) => (
        <span key={measure.key} class="entry">
          <svg viewBox="0 0 26 8" width="26" height="8" aria-hidden="true">
            <Line measure={measure} d="M0 4h26" />
          </svg>{' '}
          {measure.label}
        </span>
      ))}
    </p>
    <div class="figures">
      {overlaps.map((overlap) => {
        const title = overlap.experts.join(' and ');
        return (
          <figure key={title}>
            <figcaption>
              <b>{title}</b>
            </figcaption>
            <Picture overlap={overlap} />
            <details>
              <summary>Numbers</summary>
              <Wide label={`Overlap of ${title}`}>
                <table>
                  <thead>
                    <tr>
                      <th scope="col">Layer</th>
                      {measures.map(({ key, label }) => (
                        <th key={key} scope="col">
                          {label}
                        </th>
                      ))}
                    </tr>
                  </thead>
                  <tbody>
                    {overlap.parts.toReversed().map((part) => (
                      <tr key={part.layer}>
                        <th scope="row">{part.layer ?? 'outside'}</th>
                        {cells(part)}
                      </tr>
                    ))}
                    <tr>
                      <th scope="row">all</th>
                      {cells(overlap.whole)}
                    </tr>
                  </tbody>
                </table>
              </Wide>
            </details>
          </figure>
        );
      })}
    </div>
  </>
);
