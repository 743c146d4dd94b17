import { useState } from 'preact/hooks';
import { describeRows, HeatMap } from '../../pictures/heat-map.js';
import { HeatTable } from '../charts/heat-table.js';
import { Lines, Table } from '../charts/section.js';
import type { PageAnalysis, PageExpert } from '../data/data.js';
import { download, svgOf } from '../data/download.js';
import { showNumber, showThresholds, sixDecimals } from '../data/numbers.js';

const fractions = ({ cells }: PageExpert, stop: number): (number | null)[][] =>
  cells.map((row) => row.map((cell) => (cell === null ? null : (cell.above[stop] ?? 0) / cell.rows)));

const downloadTable = (expert: PageExpert, stop: number): void => {
  const lines = [
    ['layer', ...expert.columns.map(({ published }) => published)],
    ...fractions(expert, stop).map((row, layer) => [
      layer,
      ...row.map((value) => (value === null ? '' : sixDecimals(value))),
    ]),
  ];
  download(`${expert.name}.csv`, 'text/csv', lines.map((line) => `${line.join(',')}\n`).join(''));
};

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

interface ThresholdProps {
  id: string;
  label: string;
  stops: readonly number[];
  stop: number;
  set: (stop: number) => void;
}

const Threshold = ({ id, label, stops, stop, set }: ThresholdProps) => (
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

export const analysedThresholds = ({ experts, stops }: PageAnalysis) =>
  experts.map(({ name, analysed }) => ({ name, threshold: stops[analysed] ?? 0 }));

const sentencesFirst = 5;

export const Experts = ({ analysis }: { analysis: PageAnalysis }) => {
  const { experts, stops, opening, published, advice, base, rows, bottom, top } = analysis;
  const [together, setTogether] = useState(true);
  const [at, setAt] = useState(() => experts.map(() => opening));
  const stopOf = (index: number) => at[index] ?? opening;
  const goToAnalysed = () => {
    if (new Set(experts.map(({ analysed }) => analysed)).size > 1) setTogether(false);
    setAt(experts.map(({ analysed }) => analysed));
  };
  const thresholdOf = (index: number) => stops[stopOf(index)] ?? 0;
  const most = experts
    .map((expert, index) => fractions(expert, stopOf(index)))
    .concat(published.map(({ cells }) => cells.map((row) => [...row])))
    .flat(2)
    .reduce<number>((a, b) => Math.max(a, b ?? 0), 1e-6);
  const downloadPicture = (expert: PageExpert, index: number) =>
    download(
      `${expert.name}.svg`,
      'image/svg+xml',
      svgOf(
        <HeatMap
          title={expert.name}
          subtitle={describeRows({ rows, threshold: thresholdOf(index), base })}
          columns={expert.columns.map(({ label }) => label)}
          cells={fractions(expert, stopOf(index))}
          most={most}
        />,
      ),
    );
  const places = [`First ${bottom} layers`, 'Middle', `Last ${top} layers`, 'Outside'];
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
  return (
    <>
      <Lines of={advice.slice(0, sentencesFirst)} kind="advice" />
      {advice.length <= sentencesFirst ? null : (
        <details>
          <summary>{advice.length - sentencesFirst} more findings</summary>
          <Lines of={advice.slice(sentencesFirst)} kind="advice" />
        </details>
      )}
      <Table
        label="Mean absolute change of each expert"
        caption={`Mean absolute change (MAV) from ${base}, and where it lies`}
        heads={['Expert', 'Mean MAV', '1 / mean MAV', ...places, 'Where']}
        rows={experts.map(({ name, meanMav, inverseMav, shares }) => [
          name,
          showNumber(meanMav),
          inverseMav === null ? '–' : showNumber(inverseMav),
          ...shares.map(percent),
          <ShareBar key="where" shares={shares} />,
        ])}
      />
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
          <button type="button" onClick={goToAnalysed}>
            As analysed ({showThresholds(analysedThresholds(analysis))})
          </button>{' '}
          <button type="button" onClick={() => setAt(experts.map(() => opening))}>
            As opened ({showNumber(stops[opening] ?? 0)})
          </button>
        </p>
      </fieldset>
      <div class="figures">
        {experts.map((expert, index) => (
          <div key={expert.name}>
            <HeatTable
              name={expert.name}
              caption={`rows with MAV above ${showNumber(thresholdOf(index))}`}
              columns={expert.columns}
              cells={fractions(expert, stopOf(index))}
              most={most}
              id={String(index)}
            />
            <p class="buttons controls">
              <button
                type="button"
                data-download={index}
                onClick={() => downloadTable(expert, stopOf(index))}
              >
                Download CSV
              </button>{' '}
              <button type="button" onClick={() => downloadPicture(expert, index)}>
                Download SVG
              </button>
            </p>
          </div>
        ))}
        {published.map(({ name, columns, cells }) => (
          <HeatTable
            key={name}
            {...{ name, cells, most }}
            caption="published table"
            columns={columns.map((label) => ({ label, title: label }))}
          />
        ))}
      </div>
      <p class="none">
        Each cell is the share of the {rows} rows of a matrix whose mean absolute change is above the
        threshold (paper §3.2). All maps have one scale, 0 to {percent(most)}. The page opens at a threshold
        that a third of the changed rows of matrices inside layers exceed, of all experts together.
      </p>
    </>
  );
};
