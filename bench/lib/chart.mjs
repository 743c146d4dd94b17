// @ts-check
// Bars as hand-written SVG, readable in print and without colour.

/** @typedef {{ label: string, value: number, low: number, high: number, own: boolean, note: string }} Bar */

const escapeText = (/** @type {string} */ text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/**
 * Draws horizontal bars with ranges and values, and a line at 1. Bars beyond `limit` are cut and marked.
 *
 * @param {string} title
 * @param {string} subtitle
 * @param {Bar[]} bars
 * @param {number} limit
 */
export const drawBars = (title, subtitle, bars, limit) => {
  const [left, right, row, top] = [250, 190, 30, 74];
  const width = 860;
  const scale = (width - left - right) / limit;
  const x = (/** @type {number} */ value) => left + Math.min(value, limit) * scale;
  const height = top + bars.length * row + 34;
  const rows = bars.map(({ label, value, low, high, own, note }, index) => {
    const y = top + index * row;
    const middle = y + row / 2 - 4;
    const cut = value > limit;
    return `
  <text x="${left - 10}" y="${middle + 4}" text-anchor="end">${escapeText(label)}</text>
  <rect x="${left}" y="${y + 2}" width="${(x(value) - left).toFixed(1)}" height="${row - 12}" fill="${own ? '#1b6ca8' : '#b8c4ce'}"/>
  ${cut ? `<path d="M${x(limit) - 14} ${y} l6 ${row - 8} m4 0 l-6 -${row - 8}" stroke="#fff" stroke-width="2"/>` : `<path d="M${x(low).toFixed(1)} ${middle} H${x(high).toFixed(1)}" stroke="#222" stroke-width="1.5"/>`}
  <text x="${(Math.max(x(high), x(1)) + 8).toFixed(1)}" y="${middle + 4}"><tspan font-weight="600">${value.toFixed(value < 10 ? 2 : 0)} ×</tspan> <tspan fill="#555">${escapeText(note)}</tspan></text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="13" fill="#222" role="img" aria-label="${escapeText(title)}">
  <rect width="100%" height="100%" fill="#fff"/>
  <text x="20" y="28" font-size="17" font-weight="600">${escapeText(title)}</text>
  <text x="20" y="50" fill="#555">${escapeText(subtitle)}</text>${rows.join('')}
  <path d="M${x(1)} ${top - 8} V${height - 26}" stroke="#222" stroke-dasharray="3 3"/>
  <text x="${x(1)}" y="${height - 10}" text-anchor="middle" fill="#555">cp -r</text>
</svg>
`;
};

/**
 * Seconds at which the count rose, ascending, and the end.
 *
 * @typedef {{ name: string, times: number[], end: number }} Steps
 */

const colours = ['#8a98a5', '#1b6ca8'];

/**
 * Draws counts over seconds, as steps.
 *
 * @param {string} title
 * @param {string} subtitle
 * @param {Steps[]} series
 */
export const drawSteps = (title, subtitle, series) => {
  const [left, right, top, bottom, width, height] = [64, 96, 74, 48, 860, 380];
  const most = Math.max(...series.map(({ times }) => times.length));
  const last = Math.max(...series.map(({ end }) => end));
  const x = (/** @type {number} */ seconds) => left + (seconds / last) * (width - left - right);
  const y = (/** @type {number} */ count) => height - bottom - (count / most) * (height - top - bottom);
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((size) => last / size <= 8) ?? 1000;
  const seconds = Array.from({ length: Math.floor(last / step) + 1 }, (_, index) => index * step);
  const counts = [
    ...new Set([0, Math.round(most / 4), Math.round(most / 2), Math.round((3 * most) / 4), most]),
  ];
  const lines = series.map(({ name, times, end }, index) => {
    const colour = colours[(index + 2 - series.length) % 2];
    const path = times.map((time, at) => `H${x(time).toFixed(1)}V${y(at + 1).toFixed(1)}`).join('');
    const reached = times.at(-1) ?? 0;
    return `
  <path d="M${x(0)} ${y(0)}${path}H${x(end).toFixed(1)}" fill="none" stroke="${colour}" stroke-width="2.5"${index + 2 - series.length === 0 ? ' stroke-dasharray="6 3"' : ''}/>
  <text x="${(x(Math.min(reached, end)) + 6).toFixed(1)}" y="${(y(times.length) - 8 + 16 * (series.length - 1 - index)).toFixed(1)}" fill="${colour}" font-weight="600">${escapeText(name)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="13" fill="#222" role="img" aria-label="${escapeText(title)}">
  <rect width="100%" height="100%" fill="#fff"/>
  <text x="20" y="28" font-size="17" font-weight="600">${escapeText(title)}</text>
  <text x="20" y="50" fill="#555">${escapeText(subtitle)}</text>${counts
    .map(
      (count) => `
  <path d="M${left} ${y(count).toFixed(1)}H${width - right}" stroke="#e3e7ea"/><text x="${left - 8}" y="${(y(count) + 4).toFixed(1)}" text-anchor="end" fill="#555">${count}</text>`,
    )
    .join('')}${seconds
    .map(
      (at) => `
  <text x="${x(at).toFixed(1)}" y="${height - bottom + 20}" text-anchor="middle" fill="#555">${at} s</text>`,
    )
    .join('')}${lines.join('')}
</svg>
`;
};

/** Seconds of one job by two tools. @typedef {{ label: string, own: number, other: number }} Pair */

/**
 * Draws two dots for each job on a logarithmic scale, with a line between them, and a line at the time of a copy.
 *
 * @param {string} title
 * @param {string} subtitle
 * @param {Pair[]} pairs
 * @param {[own: string, other: string]} names
 * @param {number} copy seconds
 */
export const drawPairs = (title, subtitle, pairs, names, copy) => {
  const [left, right, row, top, width] = [150, 130, 24, 112, 860];
  const least = Math.min(copy, ...pairs.map(({ own, other }) => Math.min(own, other))) / 1.3;
  const most = Math.max(...pairs.map(({ own, other }) => Math.max(own, other)));
  const x = (/** @type {number} */ seconds) =>
    Number((left + (Math.log(seconds / least) / Math.log(most / least)) * (width - left - right)).toFixed(1));
  const end = top + pairs.length * row;
  const height = end + 40;
  const said = (/** @type {number} */ seconds) => `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const [ours, theirs] = ['#1b6ca8', '#8a98a5'];
  const ticks = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500].filter((at) => at > least && at < most);
  const axis = ticks.map(
    (at) => `
  <path d="M${x(at)} ${top - 8}V${end}" stroke="#e3e7ea"/><text x="${x(at)}" y="${end + 16}" text-anchor="middle" fill="#555">${at} s</text>`,
  );
  const rows = pairs.map(({ label, own, other }, index) => {
    const y = top + index * row + 8;
    return `
  <text x="${left - 10}" y="${y + 4}" text-anchor="end">${escapeText(label)}</text>
  <path d="M${x(own)} ${y}H${x(other)}" stroke="#b8c4ce" stroke-width="2"/>
  <circle cx="${x(own)}" cy="${y}" r="6" fill="${ours}"/><circle cx="${x(other)}" cy="${y}" r="5" fill="#fff" stroke="${theirs}" stroke-width="2"/>
  <text x="${x(Math.max(own, other)) + 12}" y="${y + 4}"><tspan font-weight="600">${(other / own).toFixed(0)} ×</tspan> <tspan fill="#555">${said(own)}, ${said(other)}</tspan></text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="13" fill="#222" role="img" aria-label="${escapeText(title)}">
  <rect width="100%" height="100%" fill="#fff"/>
  <text x="20" y="28" font-size="17" font-weight="600">${escapeText(title)}</text>
  <text x="20" y="50" fill="#555">${escapeText(subtitle)}</text>
  <circle cx="26" cy="72" r="6" fill="${ours}"/><text x="38" y="76">${escapeText(names[0])}</text>
  <circle cx="126" cy="72" r="5" fill="#fff" stroke="${theirs}" stroke-width="2"/><text x="138" y="76">${escapeText(names[1])}</text>${axis.join('')}
  <path d="M${x(copy)} ${top - 8}V${end}" stroke="#222" stroke-dasharray="3 3"/>
  <text x="${x(copy)}" y="${top - 14}" text-anchor="middle">cp -r</text>${rows.join('')}
</svg>
`;
};
