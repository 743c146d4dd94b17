import { useState } from 'preact/hooks';
import type { PageAnalysis, PageExpert } from './data.js';
import { heatOf } from './heat.js';
import { showNumber, sixDecimals } from './numbers.js';
import { Wide } from './section.js';

const fraction = (cell: PageExpert['cells'][number][number], stop: number): number | null =>
  cell === null ? null : (cell.above[stop] ?? 0) / cell.rows;

/** One expert as the paper's figure: the last layer on top, a column for each matrix. */
const ExpertMap = ({
  expert,
  id,
  stop,
  most,
  threshold,
}: {
  expert: PageExpert;
  id: string;
  stop: number;
  most: number;
  threshold: number;
}) => (
  <Wide label={`${expert.name} by layer and matrix`}>
    <table class="heat-map expert" data-expert={id}>
      <caption>
        <b>{expert.name}</b> rows with MAV above {showNumber(threshold)}, in per cent
      </caption>
      <thead>
        <tr>
          <th scope="col">layer</th>
          {expert.columns.map(({ label, title }) => (
            <th key={title} scope="col" title={title}>
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {expert.cells
          .map((row, layer) => ({ row, layer }))
          .reverse()
          .map(({ row, layer }) => (
            <tr key={layer}>
              <th scope="row">{layer}</th>
              {row.map((cell, column) => {
                const value = fraction(cell, stop);
                const title = expert.columns[column]?.title ?? '';
                return value === null ? (
                  <td key={title} />
                ) : (
                  <td
                    key={title}
                    {...heatOf(value, [0, most])}
                    data-cell={`${layer},${column}`}
                    title={`layer ${layer}, ${title}: ${sixDecimals(value)}`}
                  >
                    {(100 * value).toFixed(value >= 0.995 ? 0 : 1)}
                  </td>
                );
              })}
            </tr>
          ))}
      </tbody>
    </table>
  </Wide>
);

const PublishedMap = ({ table, most }: { table: PageAnalysis['published'][number]; most: number }) => (
  <Wide label={`${table.name}, published`}>
    <table class="heat-map expert">
      <caption>
        <b>{table.name}</b> published table, in per cent
      </caption>
      <thead>
        <tr>
          <th scope="col">layer</th>
          {table.columns.map((column) => (
            <th key={column} scope="col">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {table.cells
          .map((row, layer) => ({ row, layer }))
          .reverse()
          .map(({ row, layer }) => (
            <tr key={layer}>
              <th scope="row">{layer}</th>
              {row.map((value, column) =>
                value === null ? (
                  <td key={table.columns[column]} />
                ) : (
                  <td key={table.columns[column]} {...heatOf(value, [0, most])} title={value.toFixed(6)}>
                    {(100 * value).toFixed(value >= 0.995 ? 0 : 1)}
                  </td>
                ),
              )}
            </tr>
          ))}
      </tbody>
    </table>
  </Wide>
);

/** Gives an expert's fractions as CSV, in the format of `NAME.csv`. */
const download = ({ name, columns, cells }: PageExpert, stop: number): void => {
  const lines = [
    ['layer', ...columns.map(({ published }) => published)],
    ...cells.map((row, layer) => [
      layer,
      ...row.map((cell) => (cell === null ? '' : sixDecimals(fraction(cell, stop) ?? 0))),
    ]),
  ];
  const link = document.createElement('a');
  link.href = URL.createObjectURL(
    new Blob([lines.map((line) => `${line.join(',')}\n`).join('')], { type: 'text/csv' }),
  );
  link.download = `${name.replaceAll('/', '--')}.csv`;
  link.click();
};

/** An expert's shares of change as one bar: first layers, middle, last layers, outside. */
const ShareBar = ({ shares }: { shares: PageExpert['shares'] }) => {
  const parts = ['band-language', 'band-task', 'band-mixed', 'band-other'].map((style, index) => ({
    style,
    from: shares.slice(0, index).reduce((a, b) => a + b, 0),
    share: shares[index] ?? 0,
  }));
  return (
    <svg class="shares" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      {parts.map(({ style, from, share }) => (
        <rect key={style} class={style} x={100 * from} y={0} width={100 * share} height={8} />
      ))}
    </svg>
  );
};

const Threshold = ({
  id,
  label,
  stops,
  stop,
  set,
}: {
  id: string;
  label: string;
  stops: readonly number[];
  stop: number;
  set: (stop: number) => void;
}) => (
  <div class="threshold controls">
    <label for={id}>{label}</label>
    <input
      id={id}
      type="range"
      min={0}
      max={stops.length - 1}
      step={1}
      value={stop}
      aria-valuetext={showNumber(stops[stop] ?? 0)}
      onInput={(event) => set(Number(event.currentTarget.value))}
    />
    <output for={id}>{showNumber(stops[stop] ?? 0)}</output>
  </div>
);

/** The experts of an analysis on one scale, with one threshold for all or one for each. */
export const Experts = ({ analysis }: { analysis: PageAnalysis }) => {
  const { experts, stops, opening, analysed, published, advice, base, rows, bottom, top } = analysis;
  const [together, setTogether] = useState(true);
  const [at, setAt] = useState(() => experts.map(() => opening));
  const stopOf = (index: number) => at[index] ?? opening;
  const most = experts
    .flatMap(({ cells }, index) => cells.flat().map((cell) => fraction(cell, stopOf(index)) ?? 0))
    .concat(published.flatMap(({ cells }) => cells.flat().map((value) => value ?? 0)))
    .reduce((a, b) => Math.max(a, b), 1e-6);
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
  return (
    <>
      <ul class="advice">
        {advice.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
      <Wide label="Mean absolute change of each expert">
        <table>
          <caption>Mean absolute change (MAV) from {base}, and where it lies</caption>
          <thead>
            <tr>
              <th scope="col">Expert</th>
              <th scope="col">Mean MAV</th>
              <th scope="col">1 / mean MAV</th>
              <th scope="col">First {bottom} layers</th>
              <th scope="col">Middle</th>
              <th scope="col">Last {top} layers</th>
              <th scope="col">Outside</th>
              <th scope="col">Where</th>
            </tr>
          </thead>
          <tbody>
            {experts.map(({ name, meanMav, inverseMav, shares }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{showNumber(meanMav)}</td>
                <td>{inverseMav === null ? '–' : showNumber(inverseMav)}</td>
                {(['bottom', 'middle', 'top', 'outside'] as const).map((part, index) => (
                  <td key={part}>{percent(shares[index] ?? 0)}</td>
                ))}
                <td>
                  <ShareBar shares={shares} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
      <fieldset class="thresholds controls">
        <legend>Threshold</legend>
        <label class="check">
          <input
            type="checkbox"
            checked={together}
            onChange={(event) => {
              setTogether(event.currentTarget.checked);
              if (event.currentTarget.checked) setAt(experts.map(() => stopOf(0)));
            }}
          />{' '}
          one for all experts
        </label>
        {together ? (
          <Threshold
            id="threshold"
            label="All"
            {...{ stops }}
            stop={stopOf(0)}
            set={(stop) => setAt(experts.map(() => stop))}
          />
        ) : (
          experts.map(({ name }, index) => (
            <Threshold
              key={name}
              id={`threshold-${index}`}
              label={name}
              {...{ stops }}
              stop={stopOf(index)}
              set={(stop) => setAt(at.map((one, other) => (other === index ? stop : one)))}
            />
          ))
        )}
        <p class="buttons">
          <button type="button" onClick={() => setAt(experts.map(() => analysed))}>
            As analysed ({showNumber(stops[analysed] ?? 0)})
          </button>{' '}
          <button type="button" onClick={() => setAt(experts.map(() => opening))}>
            As opened ({showNumber(stops[opening] ?? 0)})
          </button>
        </p>
      </fieldset>
      <p class="none">
        Each cell is the share of the {rows} rows of a matrix whose mean absolute change is above the
        threshold (paper §3.2). All maps have one scale, 0 to {percent(most)}. The page opens at a threshold
        that a third of the rows exceed.
      </p>
      <div class="figures">
        {experts.map((expert, index) => (
          <div key={expert.name}>
            <ExpertMap
              expert={expert}
              id={String(index)}
              stop={stopOf(index)}
              most={most}
              threshold={stops[stopOf(index)] ?? 0}
            />
            <button
              type="button"
              class="controls"
              data-download={index}
              onClick={() => download(expert, stopOf(index))}
            >
              Download CSV
            </button>
          </div>
        ))}
        {published.map((table) => (
          <PublishedMap key={table.name} table={table} most={most} />
        ))}
      </div>
    </>
  );
};
