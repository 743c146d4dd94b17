import { groupBy, itemAt } from '../lookup.js';
import { scaleOf } from '../scores/metrics.js';
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

/** A configuration's dot in a step. */
interface Dot {
  readonly candidate: Candidate;
  readonly x: number;
  readonly y: number;
}

/** A step with its column. */
interface Column {
  readonly step: SearchStep;
  readonly index: number;
  /** Its centre, and its width. */
  readonly at: number;
  readonly width: number;
  readonly dots: readonly Dot[];
}

/** Distance of dots of equal means, which stand side by side as far as the column is wide. */
const dotDistance = 6.6;

const columnOf = (step: SearchStep, index: number, width: number, y: (value: number) => number): Column => {
  const at = plot.left + (index + 0.5) * width;
  const rows = groupBy(
    step.candidates.filter(({ mean }) => mean !== null),
    ({ mean }) => Math.round(y(mean as number) / dotDistance),
  );
  const dots = [...rows.values()].flatMap((row) => {
    const distance = Math.min(dotDistance, (0.8 * width) / row.length);
    return row.map((candidate, place) => ({
      candidate,
      x: at + (place - (row.length - 1) / 2) * distance,
      y: y(candidate.mean as number),
    }));
  });
  return { step, index, at, width, dots };
};

/**
 * Draws the path of a search as SVG: a column for each step, a dot for each configuration at its mean over the problems
 * it has, lines for those that went on; on the right, choice and default on held-out problems.
 */
export const drawSearch = (search: SearchRecord): string => {
  const { steps, choice, heldOut, language } = search;
  const format = formatterOf(search.metric);
  const column = steps.length > 9 ? Math.max(13, 780 / steps.length) : 112;
  const width = steps.length * column;
  const scale = scaleOfSteps(steps);
  const y = (value: number) => plot.top + plot.height * (1 - (value - scale.from) / (scale.to - scale.from));
  const columns = steps.map((step, index) => columnOf(step, index, column, y));
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
${linesBetween(search, columns)}
${columns.map((each) => drawColumn(search, each, format)).join('\n')}
${labelsOf(columns)}
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

const drawColumn = (
  search: SearchRecord,
  { step, at, width, dots }: Column,
  format: (value: number) => string,
): string => {
  // The chosen and the default are drawn last, on top of the others.
  const rank = ({ candidate: { name } }: Dot) => [search.default, search.choice].indexOf(name);
  const isKept = ({ candidate: { name } }: Dot) => Number(step.kept.includes(name));
  const radius = width < 30 ? 2.6 : 3.2;
  const drawn = [...dots]
    .sort((a, b) => rank(a) - rank(b) || isKept(a) - isKept(b))
    .map((dot) => {
      const { name, mean, problems } = dot.candidate;
      const size = rank(dot) >= 0 ? 1.5 * radius : radius;
      return `<circle cx="${dot.x.toFixed(1)}" cy="${dot.y.toFixed(1)}" r="${size}" fill="${colourOf(search, step, dot.candidate)}" stroke="#fff" stroke-width="0.8"><title>${escapeText(`${name}: ${format(mean as number)} of ${problems} problems`)}</title></circle>`;
    });
  return `<g><path d="M${(at + width / 2).toFixed(1)} ${plot.top} v${plot.height}" stroke="${colours.grid}"/>${drawn.join('')}</g>`;
};

/** Labels columns: all of each if they are wide; otherwise each fifth number, and where the number of problems changes. */
const labelsOf = (columns: readonly Column[]): string => {
  const bottom = plot.top + plot.height;
  const write = (x: number, row: number, text: string, more: string) =>
    `<text x="${x.toFixed(1)}" y="${bottom + 20 + 15 * row}" font-size="10.5" ${more}>${escapeText(text)}</text>`;
  const grey = 'text-anchor="middle" fill="#555"';
  let limits = 0;
  return columns
    .map(({ step, index, at, width }) => {
      if (width >= 90)
        return [
          write(at, 0, step.title, 'text-anchor="middle" font-weight="600"'),
          write(at, 1, `${step.candidates.length} configurations`, grey),
          write(at, 2, `first ${step.limit} problems`, grey),
          write(at, 3, `${step.spent.toLocaleString('en')} spent`, grey),
        ].join('');
      const isFirst = index === 0 || itemAt(columns, index - 1).step.limit !== step.limit;
      const left = at - width / 2;
      // Labels of neighbours stand in two rows, so that they do not touch.
      if (isFirst) limits += 1;
      return [
        ...((index + 1) % 5 === 0 ? [write(at, 0, String(index + 1), grey)] : []),
        ...(isFirst
          ? [
              `<path d="M${left.toFixed(1)} ${plot.top} v${plot.height + 56}" stroke="#999" stroke-dasharray="3 3"/>`,
              write(left + 4, 2 - (limits % 2), `${step.limit} problems`, 'fill="#555"'),
            ]
          : []),
      ].join('');
    })
    .join('\n');
};

/** Draws a line from each configuration that went on to where it is in the next step. */
const linesBetween = (search: SearchRecord, columns: readonly Column[]): string =>
  columns
    .slice(1)
    .flatMap(({ step, dots }, index) => {
      const former = itemAt(columns, index);
      const before = new Map(former.dots.map((dot) => [dot.candidate.name, dot]));
      return dots.flatMap(({ candidate, x, y }) => {
        const from = before.get(candidate.name);
        if (from === undefined || !former.step.kept.includes(candidate.name)) return [];
        const isMarked = candidate.name === search.choice || candidate.name === search.default;
        const stroke = isMarked ? colourOf(search, step, candidate) : '#b7dfc2';
        return `<path d="M${from.x.toFixed(1)} ${from.y.toFixed(1)} L${x.toFixed(1)} ${y.toFixed(1)}" stroke="${stroke}" stroke-width="${isMarked ? 2 : 0.9}" fill="none"/>`;
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
