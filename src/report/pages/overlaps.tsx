import { scaleLinear } from 'd3-scale';
import type { OverlapFigures, PageOverlap } from './data.js';
import { Wide } from './section.js';

const [left, top, width, row] = [44, 12, 360, 11];

const measures = [
  { key: 'cosine', label: 'cosine', style: 'line-cosine' },
  { key: 'signAgreement', label: 'sign agreement', style: 'line-sign' },
  { key: 'rowsAboveInBoth', label: 'rows above in both', style: 'line-rows' },
] as const;

const show = (value: number | null): string => value?.toFixed(3).replace('-', '−') ?? '–';

/** Three measures of overlap by layer, the last layer on top. */
const Picture = ({ overlap }: { overlap: PageOverlap }) => {
  const layers = overlap.parts.filter(({ layer }) => layer !== null);
  const height = Math.max(1, layers.length) * row;
  const least = layers.flatMap(({ cosine }) => cosine ?? []).reduce((a, b) => Math.min(a, b), 0);
  const x = scaleLinear()
    .domain([least, 1])
    .nice()
    .range([left, left + width]);
  const y = (index: number) => top + (layers.length - 1 - index + 0.5) * row;
  const title = overlap.experts.join(' and ');
  return (
    <svg
      viewBox={`0 0 ${left + width + 16} ${top + height + 30}`}
      width={left + width + 16}
      height={top + height + 30}
      role="img"
      aria-label={`Overlap of the changes of ${title} by layer: ${measures
        .map(({ key, label }) => `${label} ${show(overlap.whole[key])} in the whole model`)
        .join(', ')}. The numbers follow as a table.`}
    >
      {x.ticks(6).map((tick) => (
        <g key={tick}>
          <path class="rule" d={`M${x(tick)} ${top}v${height}`} />
          <text class="tick" x={x(tick)} y={top + height + 16} text-anchor="middle">
            {tick}
          </text>
        </g>
      ))}
      {layers.map(({ layer }, index) =>
        index % 4 === 0 || index === layers.length - 1 ? (
          <text key={layer} class="tick" x={left - 8} y={y(index) + 4} text-anchor="end">
            {layer}
          </text>
        ) : null,
      )}
      {measures.map(({ key, style }) => {
        const points = layers.flatMap((part, index) => {
          const value = part[key];
          return value === null ? [] : [`${x(value).toFixed(1)} ${y(index).toFixed(1)}`];
        });
        return points.length === 0 ? null : <path key={key} class={style} d={`M${points.join('L')}`} />;
      })}
    </svg>
  );
};

const cells = (part: OverlapFigures) => measures.map(({ key }) => <td key={key}>{show(part[key])}</td>);

/** Overlap of the changes of each pair of experts: a picture, and its numbers. */
export const Overlaps = ({ overlaps }: { overlaps: readonly PageOverlap[] }) => (
  <>
    <p class="key">
      {measures.map(({ key, label, style }) => (
        <span key={key} class="entry">
          <svg viewBox="0 0 26 8" width="26" height="8" aria-hidden="true">
            <path class={style} d="M0 4h26" />
          </svg>{' '}
          {label}
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
