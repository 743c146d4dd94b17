import { itemAt } from '../lookup.js';
import { scaleOf } from '../scores/headline.js';
import type { HeldOutComparison } from '../search/landscape.js';
import type { SearchRecord } from '../search/run-search.js';
import type { Candidate, SearchStep } from '../search/trace.js';
import { escapeText, fontFamily } from './svg.js';

const colours = {
  choice: '#00441b',
  kept: '#41ab5d',
  dropped: '#c9c9c9',
  standard: '#d95f02',
  grid: '#ececec',
};

/** Pixels: margins of the plot, its height, and the panel of the final comparison. */
const plot = { left: 64, top: 96, height: 300, panel: 210 } as const;

/** Formats a score: in percent where outcomes are shares of problems. */
const formatterOf = (metric: string | null): ((value: number) => string) => {
  const { unit, factor, digits } = metric === null ? { unit: 'raw', factor: 1, digits: 3 } : scaleOf(metric);
  // Configurations are compared by log-likelihoods, not by perplexities.
  if (unit === 'perplexity') return (value) => value.toFixed(3);
  return (value) => `${(value * factor).toFixed(digits)}${unit === 'percent' ? ' %' : ''}`;
};

type Place = { readonly x: number; readonly y: number };

/**
 * Draws the path of a search as SVG: a column for each step, a dot for each configuration at its mean over the problems
 * it has, lines for those that went on; on the right, choice and default on held-out problems.
 */
export const drawSearch = (search: SearchRecord): string => {
  const { steps, choice, heldOut, language } = search;
  const format = formatterOf(search.metric);
  const column = steps.length > 10 ? Math.max(22, 720 / steps.length) : 104;
  const width = steps.length * column;
  const scale = scaleOfSteps(steps);
  const y = (value: number) => plot.top + plot.height * (1 - (value - scale.from) / (scale.to - scale.from));
  const x = (step: number) => plot.left + (step + 0.5) * column;
  const title = `Search of ${search.configurations} configurations, ${language}`;
  const total = plot.left + width + plot.panel + 24;
  const height = plot.top + plot.height + 96;
  const ticks = scale.ticks.map(
    (value) =>
      `<path d="M${plot.left} ${y(value).toFixed(1)} h${width}" stroke="${colours.grid}"/><text x="${plot.left - 8}" y="${(y(value) + 4).toFixed(1)}" font-size="10" text-anchor="end" fill="#555">${format(value)}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${total} ${height}" width="${total}" height="${height}" font-family="${escapeText(fontFamily)}" fill="#222" role="img" aria-label="${escapeText(`${title}: ${choice} was chosen`)}">
<rect width="100%" height="100%" fill="#fff"/>
<text x="20" y="28" font-size="16" font-weight="600">${escapeText(title)}</text>
<text x="20" y="48" font-size="11" fill="#555">${escapeText(subtitleOf(search))}</text>
${legend(20, 68)}
${ticks.join('\n')}
${linesBetween(search, x, y)}
${steps.map((step, index) => drawStep(search, step, { at: x(index), column, y, format, isCrowded: steps.length > 10, index })).join('\n')}
${drawHeldOut(heldOut, { choice, standard: search.default, at: plot.left + width + 24, metric: search.metric })}
</svg>
`;
};

const subtitleOf = ({ strategy, spent, grid, rows, metric }: SearchRecord): string =>
  `${strategy === 'halving' ? 'successive halving' : 'coordinate descent'} on problems ${rows[0]} to ${rows[1] - 1}; ` +
  `${spent.toLocaleString('en')} of the grid's ${grid.toLocaleString('en')} problem-evaluations (${((100 * spent) / grid).toFixed(1)} %)` +
  (metric === null ? '' : `; ${metric}`);

const legend = (left: number, top: number): string => {
  let at = left;
  return [
    { label: 'chosen', fill: colours.choice },
    { label: 'went on', fill: colours.kept },
    { label: 'left out', fill: colours.dropped },
    { label: 'default', fill: colours.standard },
  ]
    .map(({ label, fill }) => {
      const text = `<circle cx="${at + 5}" cy="${top}" r="4.5" fill="${fill}"/><text x="${at + 15}" y="${top + 4}" font-size="11">${label}</text>`;
      at += 78;
      return text;
    })
    .join('');
};

/** Limits and ticks of the vertical axis: round values around all means. */
const scaleOfSteps = (steps: readonly SearchStep[]): { from: number; to: number; ticks: number[] } => {
  const means = steps.flatMap(({ candidates }) => candidates.flatMap(({ mean }) => mean ?? []));
  const [low, high] = means.length > 0 ? [Math.min(...means), Math.max(...means)] : [0, 1];
  const rough = (high - low || 0.1) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
  const [from, to] = [Math.floor(low / step) * step, Math.ceil(high / step) * step];
  const ends = to > from ? to : from + step;
  const count = Math.round((ends - from) / step);
  return { from, to: ends, ticks: Array.from({ length: count + 1 }, (_, index) => from + index * step) };
};

const colourOf = (search: SearchRecord, { kept }: SearchStep, { name }: Candidate): string => {
  if (name === search.choice) return colours.choice;
  if (name === search.default) return colours.standard;
  return kept.includes(name) ? colours.kept : colours.dropped;
};

interface Column {
  readonly at: number;
  readonly column: number;
  readonly y: (value: number) => number;
  readonly format: (value: number) => string;
  readonly isCrowded: boolean;
  readonly index: number;
}

const drawStep = (
  search: SearchRecord,
  step: SearchStep,
  { at, column, y, format, isCrowded, index }: Column,
): string => {
  // The chosen and the default are drawn last, on top of the others.
  const rank = ({ name }: Candidate) => [search.default, search.choice].indexOf(name);
  const scored = step.candidates
    .filter(({ mean }) => mean !== null)
    .sort(
      (a, b) => rank(a) - rank(b) || Number(step.kept.includes(a.name)) - Number(step.kept.includes(b.name)),
    );
  const dots = scored.map((candidate) => {
    const { x, y: top } = placeOf(candidate, at, y);
    const large = rank(candidate) >= 0;
    return `<circle cx="${x.toFixed(1)}" cy="${top.toFixed(1)}" r="${large ? 5 : 3.2}" fill="${colourOf(search, step, candidate)}" stroke="#fff" stroke-width="0.8"><title>${escapeText(`${candidate.name}: ${format(candidate.mean as number)} of ${candidate.problems} problems`)}</title></circle>`;
  });
  const bottom = plot.top + plot.height;
  const lines = isCrowded
    ? [String(index + 1)]
    : [
        step.title,
        `${step.candidates.length} configurations`,
        `first ${step.limit} problems`,
        `${step.spent.toLocaleString('en')} spent`,
      ];
  const labels = lines.map(
    (line, row) =>
      `<text x="${at.toFixed(1)}" y="${bottom + 20 + 15 * row}" font-size="${isCrowded ? 9 : 10.5}" text-anchor="middle"${row === 0 ? ' font-weight="600"' : ' fill="#555"'}>${escapeText(line)}</text>`,
  );
  const axis = `<path d="M${(at + column / 2).toFixed(1)} ${plot.top} v${plot.height}" stroke="${colours.grid}"/>`;
  return `<g>${axis}${dots.join('')}${labels.join('')}</g>`;
};

const placeOf = ({ mean }: Candidate, at: number, y: (value: number) => number): Place => ({
  x: at,
  y: y(mean as number),
});

/** Draws a line from each configuration that went on to where it is in the next step. */
const linesBetween = (
  search: SearchRecord,
  x: (step: number) => number,
  y: (value: number) => number,
): string =>
  search.steps
    .slice(1)
    .flatMap((step, index) => {
      const former = itemAt(search.steps, index);
      const before = new Map(former.candidates.map((candidate) => [candidate.name, candidate]));
      return step.candidates.flatMap((candidate) => {
        const from = before.get(candidate.name);
        if (from === undefined || from.mean === null || candidate.mean === null) return [];
        if (!former.kept.includes(candidate.name)) return [];
        const [a, b] = [placeOf(from, x(index), y), placeOf(candidate, x(index + 1), y)];
        const isMarked = candidate.name === search.choice || candidate.name === search.default;
        const stroke = isMarked ? colourOf(search, step, candidate) : '#a8d5b5';
        return `<path d="M${a.x.toFixed(1)} ${a.y.toFixed(1)} L${b.x.toFixed(1)} ${b.y.toFixed(1)}" stroke="${stroke}" stroke-width="${isMarked ? 2 : 1}" fill="none"/>`;
      });
    })
    .join('\n');

/** Draws the scores of choice and default on held-out problems as two bars, with the test's result. */
const drawHeldOut = (
  heldOut: HeldOutComparison | null,
  { choice, standard, at, metric }: { choice: string; standard: string; at: number; metric: string | null },
): string => {
  const head = `<text x="${at}" y="${plot.top}" font-size="12" font-weight="600">Problems not searched</text>`;
  const write = (row: number, text: string, more = '') =>
    `<text x="${at}" y="${plot.top + row}" font-size="11" ${more}>${escapeText(text)}</text>`;
  if (heldOut === null)
    return head + write(24, 'The default was chosen.') + write(42, standard, 'fill="#555"');
  const { unit, factor, digits } = metric === null ? { unit: 'raw', factor: 1, digits: 3 } : scaleOf(metric);
  const show = (value: number) => `${(value * factor).toFixed(digits)}${unit === 'percent' ? ' %' : ''}`;
  const most = Math.max(heldOut.choice, heldOut.default, 1e-9);
  const bars = [
    { name: choice, label: 'chosen', value: heldOut.choice, fill: colours.choice },
    { name: standard, label: 'default', value: heldOut.default, fill: colours.standard },
  ].map(({ name, label, value, fill }, index) => {
    const top = plot.top + 22 + index * 62;
    return `<text x="${at}" y="${top + 10}" font-size="11">${label}: ${show(value)}</text><rect x="${at}" y="${top + 16}" width="${((plot.panel - 20) * value) / most}" height="16" fill="${fill}"/><text x="${at}" y="${top + 46}" font-size="10" fill="#555">${escapeText(name)}</text>`;
  });
  const signed = (value: number) => `${value > 0 ? '+' : ''}${(value * factor).toFixed(digits)}`;
  return [
    head,
    ...bars,
    write(
      166,
      `difference ${signed(heldOut.difference)}${unit === 'percent' ? ' points' : ''}`,
      'font-weight="600"',
    ),
    ...(heldOut.interval === null
      ? []
      : [write(184, `95 % interval ${signed(heldOut.interval[0])} to ${signed(heldOut.interval[1])}`)]),
    write(202, heldOut.p === null ? 'not tested' : `p = ${heldOut.p.toPrecision(2)} (${heldOut.n} problems)`),
  ].join('');
};
