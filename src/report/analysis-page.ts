import type { MavVectors } from '../analysis/analysis.js';
import { columnsOf } from '../analysis/columns.js';
import type { Overlap } from '../analysis/overlap.js';
import type { Shares } from '../analysis/shares.js';
import { itemAt, valueAt } from '../lookup.js';
import { finiteRows, mostOf, shortName, tableOf } from './analysis-table.js';
import { drawHeatMap } from './heat-map.js';
import { drawOverlap, drawShares } from './overlap-picture.js';
import { escapeText, fontFamily, formatNumber, greens, sixDecimals } from './svg.js';

/** A published table, drawn beside the experts. */
export interface PublishedTable {
  readonly name: string;
  readonly columns: readonly string[];
  readonly cells: readonly (readonly (number | undefined)[])[];
}

export interface AnalysisPage {
  readonly experts: readonly { readonly mav: MavVectors; readonly shares: Shares }[];
  readonly overlaps: readonly Overlap[];
  readonly published: readonly PublishedTable[];
  readonly threshold: number;
  readonly bottom: number;
  readonly top: number;
}

/** Slider positions per power of ten. */
const stopsPerDecade = 40;

/**
 * Returns the slider's thresholds in ascending order: evenly spaced on a log scale over the range of the
 * MAVs, plus the analysed one. Rows are counted at each of them when the page is written, so that every
 * number on it is exact.
 */
const stopsOf = (experts: readonly MavVectors[], threshold: number): number[] => {
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  for (const { vectors } of experts)
    for (const vector of vectors.values())
      for (const mav of vector) if (mav > 0) [least, most] = [Math.min(least, mav), Math.max(most, mav)];
  if (!Number.isFinite(least)) return [threshold];
  const [from, to] = [
    Math.floor(Math.max(Math.log10(least), -12) * 4) / 4,
    Math.ceil(Math.log10(most) * 4) / 4,
  ];
  const steps = Math.round((to - from) * stopsPerDecade);
  const even = Array.from({ length: steps + 1 }, (_, step) =>
    Number((10 ** (from + step / stopsPerDecade)).toPrecision(3)),
  );
  return [...new Set([...even, threshold])].sort((a, b) => a - b);
};

/** Counts a cell's rows above each stop; stops ascend. */
const countsAt = (vectors: readonly Float32Array[], stops: readonly number[]): number[] => {
  const counts = stops.map(() => 0);
  for (const vector of vectors) {
    const sorted = vector.filter((mav) => !Number.isNaN(mav)).sort();
    let below = 0;
    for (const [index, stop] of stops.entries()) {
      while (below < sorted.length && itemAt(sorted, below) <= stop) below += 1;
      counts[index] = itemAt(counts, index) + sorted.length - below;
    }
  }
  return counts;
};

const dataOf = ({ mav }: AnalysisPage['experts'][number], stops: readonly number[]) => {
  const columns = columnsOf(mav.tensors, mav.layers);
  return {
    name: mav.name,
    columns: columns.map(({ name }) => name),
    // By layer, then column: number of rows, and number of rows above each stop; null where the layer has
    // none.
    cells: Array.from({ length: mav.layers }, (_, layer) =>
      columns.map(({ layers }) => {
        const names = itemAt(layers, layer);
        const rows = finiteRows(mav, names);
        return rows === 0
          ? null
          : {
              rows,
              above: countsAt(
                names.map((name) => valueAt(mav.vectors, name)),
                stops,
              ),
            };
      }),
    ),
  };
};

/** Encodes JSON for a script element, which `</script>` in a string would end. */
const embed = (value: unknown): string => JSON.stringify(value).replaceAll('<', '\\u003c');

const overlapRows = ({ parts, whole }: Overlap): string =>
  [
    ...parts.map((part) => ({ ...part, label: part.layer === null ? 'outside' : String(part.layer) })),
    { ...whole, label: 'all' },
  ]
    .map(
      ({ label, cosine, signAgreement, rowsAboveInBoth }) =>
        `<tr><th>${label}</th><td>${cosine?.toFixed(4) ?? '–'}</td><td>${signAgreement?.toFixed(4) ?? '–'}</td><td>${rowsAboveInBoth.toFixed(4)}</td></tr>`,
    )
    .join('');

/**
 * Writes one HTML file, which needs no network: all experts on one scale, with a slider for the threshold.
 */
export const writeAnalysisPage = (page: AnalysisPage): string => {
  const { experts, overlaps, published, threshold, bottom, top } = page;
  const stops = stopsOf(
    experts.map(({ mav }) => mav),
    threshold,
  );
  const tables = experts.map(({ mav }) => tableOf(mav, threshold));
  const most = mostOf([...tables, ...published]);
  const maps = experts.map(({ mav }, index) => {
    const { columns, cells } = itemAt(tables, index);
    const labels = columns.map(({ label }) => label);
    return `<figure data-expert="${index}">${drawHeatMap({ title: mav.name, subtitle: `rows with MAV above ${formatNumber(threshold)}`, columns: labels, cells, most }, `expert-${index}`)}<figcaption><button type="button" data-download="${index}">Download CSV</button></figcaption></figure>`;
  });
  const publishedMaps = published.map(
    ({ name, columns, cells }, index) =>
      `<figure>${drawHeatMap({ title: name, subtitle: 'published table', columns: columns.map(shortName), cells, most }, `published-${index}`)}</figure>`,
  );
  const { base, rows } = itemAt(experts, 0).mav;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Task vectors of ${escapeText(experts.map(({ mav }) => mav.name).join(', '))}</title>
<style>
body { font: 15px/1.5 ${fontFamily}; color: #222; margin: 2rem auto; max-width: 1400px; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0.2rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
p { max-width: 75ch; color: #444; }
.maps, .overlaps { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; }
figure { margin: 0; border: 1px solid #ddd; border-radius: 6px; padding: 0.5rem; break-inside: avoid; }
svg { max-width: 100%; height: auto; }
.slider { position: sticky; top: 0; background: #fff; padding: 0.6rem 0; border-bottom: 1px solid #ddd; display: flex; gap: 1rem; align-items: center; flex-wrap: wrap; z-index: 1; }
.slider input { flex: 1; min-width: 240px; } output { font-variant-numeric: tabular-nums; font-weight: 600; min-width: 6em; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; } th, td { padding: 0.15rem 0.6rem; text-align: right; } tr:nth-child(even) { background: #f6f6f6; }
@media print { .slider, button { display: none; } body { margin: 0; } }
</style>
</head>
<body>
<h1>Changes by fine-tuning, by layer and matrix</h1>
<p>Each cell is the share of ${rows} rows of a matrix whose mean absolute change from ${escapeText(base.name)} is above the threshold (paper §3.2). Layer 0 is at the bottom. Hover a cell for its value. All maps have one scale.</p>
<div class="slider"><label for="threshold">Threshold</label><input id="threshold" type="range" min="0" max="${stops.length - 1}" value="${stops.indexOf(threshold)}" step="1"><output id="value" for="threshold">${formatNumber(threshold)}</output><button type="button" id="reset">As analysed (${formatNumber(threshold)})</button></div>
<div class="maps">
${maps.join('\n')}
${publishedMaps.join('\n')}
</div>
<p>The slider has ${stops.length} thresholds. Rows were counted at each of them from the MAV of every row, so that every value is exact.</p>
${drawShares(
  experts.map(({ mav, shares }) => ({ name: mav.name, shares })),
  bottom,
  top,
)}
${
  overlaps.length === 0
    ? ''
    : `<h2>Overlap of the experts' changes</h2>
<p>Cosine: of the angle between the two task vectors. Sign agreement: share of the elements changed by both experts whose changes have the same sign. Rows above in both: share of rows whose MAV is above ${formatNumber(threshold)} in both experts.</p>
<div class="overlaps">
${overlaps.map((overlap) => `<figure>${drawOverlap(overlap)}<figcaption><details><summary>Numbers</summary><table><tr><th>layer</th><th>cosine</th><th>sign agreement</th><th>rows above in both</th></tr>${overlapRows(overlap)}</table></details></figcaption></figure>`).join('\n')}
</div>`
}
<script>
const data = ${embed({ stops, experts: experts.map((expert) => dataOf(expert, stops)), palette: greens, publishedMost: mostOf(published), analysed: stops.indexOf(threshold) })};
${script}
</script>
</body>
</html>
`;
};

const script = `
const sixDecimals = ${sixDecimals.toString()};
const slider = document.getElementById('threshold');
const fraction = (cell, stop) => cell === null ? undefined : cell.above[stop] / cell.rows;
const label = (value) => value === 0 ? '0' : Math.abs(value) < 1e-3 ? Number(value.toPrecision(3)).toExponential().replace('e+', 'e') : String(Number(value.toPrecision(3)));
const show = () => {
  const stop = Number(slider.value);
  document.getElementById('value').value = label(data.stops[stop]);
  let most = data.publishedMost;
  for (const { cells } of data.experts) for (const row of cells) for (const cell of row) most = Math.max(most, fraction(cell, stop) ?? 0);
  for (const svg of document.querySelectorAll('figure > svg')) {
    const most_ = svg.querySelector('.most');
    if (most_ !== null) most_.textContent = label(most);
    const figure = svg.parentElement;
    const expert = data.experts[figure.dataset.expert];
    if (expert !== undefined) svg.querySelector('.subtitle').textContent = 'rows with MAV above ' + label(data.stops[stop]);
    for (const rect of svg.querySelectorAll('[data-cell]')) {
      const [layer, column] = rect.dataset.cell.split(',').map(Number);
      const title = rect.querySelector('title');
      const value = expert === undefined ? Number(title.textContent.split(': ')[1]) : fraction(expert.cells[layer][column], stop);
      rect.setAttribute('fill', data.palette[Math.round(100 * value / most)]);
      if (expert !== undefined) title.textContent = title.textContent.split(': ')[0] + ': ' + sixDecimals(value);
    }
  }
};
slider.addEventListener('input', show);
document.getElementById('reset').addEventListener('click', () => { slider.value = data.analysed; show(); });
for (const button of document.querySelectorAll('[data-download]'))
  button.addEventListener('click', () => {
    const { name, columns, cells } = data.experts[button.dataset.download];
    const stop = Number(slider.value);
    const rows = cells.map((row, layer) => [layer, ...row.map((cell) => cell === null ? '' : sixDecimals(fraction(cell, stop)))].join(','));
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([['layer', ...columns].join(',') + '\\n' + rows.join('\\n') + '\\n'], { type: 'text/csv' }));
    link.download = name.replaceAll('/', '--') + '.csv';
    link.click();
  });
`;
