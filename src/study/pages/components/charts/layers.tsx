import type { Band, PageModel } from '../data/data.js';

const [width, left, top] = [120, 42, 14];

const fills: Readonly<Record<Band['from'], string>> = {
  task: 'band-task',
  language: 'band-language',
  mixed: 'band-mixed',
  other: 'band-other',
};

const span = ({ first, last }: Band): string =>
  first === last ? `layer ${first}` : `layers ${first} to ${last}`;

/** Describes bands from the last layer down, as in the picture. */
export const describeBands = (bands: readonly Band[], outside: string | null): string =>
  [
    ...bands.toReversed().map((band) => `${span(band)}: ${band.label}`),
    ...(outside === null ? [] : [`outside the layers: ${outside}`]),
  ].join('; ');

const character = 6.6;

export const LayerStack = ({ model, id }: { model: PageModel; id: string }) => {
  const { bands, outside } = model;
  const count = (bands.at(-1)?.last ?? -1) + 1;
  if (count === 0) return <p class="none">The number of layers of this merge is unknown.</p>;
  const row = Math.max(4, Math.min(12, 320 / count));
  const y = (layer: number) => top + (count - 1 - layer) * row;
  const longest = Math.max(
    ...[...bands.map(({ label }) => label), outside ?? ''].map(({ length }) => length),
  );
  const labels = Math.max(220, 20 + longest * character);
  const height = top + count * row + (outside === null ? 10 : 42);
  return (
    <svg
      class="stack"
      viewBox={`0 0 ${left + width + labels} ${height}`}
      width={left + width + labels}
      height={height}
      role="img"
      aria-labelledby={`${id}-title ${id}-desc`}
    >
      <title id={`${id}-title`}>Layers of {model.name}</title>
      <desc id={`${id}-desc`}>{describeBands(bands, outside)}</desc>
      {bands.map((band) => {
        const [from, to] = [y(band.last), y(band.first) + row];
        return (
          <g key={band.first}>
            {Array.from({ length: band.last - band.first + 1 }, (_, index) => (
              <rect
                key={index}
                class={fills[band.from]}
                x={left}
                y={y(band.first + index)}
                width={width}
                height={row - 1}
                rx={1.5}
              />
            ))}
            <text x={left - 8} y={to - row / 2 + 3.5} text-anchor="end" class="tick">
              {band.first}
            </text>
            {band.last - band.first > 2 ? (
              <text x={left - 8} y={from + row / 2 + 3.5} text-anchor="end" class="tick">
                {band.last}
              </text>
            ) : null}
            <text x={left + width + 12} y={(from + to) / 2 + 4}>
              {band.label}
            </text>
          </g>
        );
      })}
      {outside === null ? null : (
        <g>
          <rect class="band-mixed" x={left} y={height - 24} width={width} height={12} rx={1.5} />
          <text x={left + width + 12} y={height - 14}>
            {outside}
          </text>
          <text x={left - 8} y={height - 14} text-anchor="end" class="tick">
            other
          </text>
        </g>
      )}
    </svg>
  );
};
