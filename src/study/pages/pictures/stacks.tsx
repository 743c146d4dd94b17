import type { Band } from '../components/data/data.js';
import { ink, Picture } from './picture.js';

/** Layers of several merges, side by side. */
export interface StacksPicture {
  readonly title: string;
  readonly subtitle: string;
  readonly stacks: readonly {
    readonly name: string;
    readonly bands: readonly Band[];
    readonly outside: string | null;
  }[];
}

/** Colours as in the page, with different lightness for print. */
const fills = { task: '#0b3c5d', language: '#3fa28c', mixed: '#d9b26f', other: '#cccccc' } as const;
const words = {
  task: 'task expert',
  language: 'language expert',
  mixed: 'average',
  other: 'another',
} as const;

const [left, top, stackWidth, gutter, most] = [44, 84, 96, 28, 320] as const;

const shortened = (name: string): string => (name.length > 20 ? `${name.slice(0, 19)}…` : name);

/** Layer swaps by layer, layer 0 at the bottom (the paper's Figures 1 and 3). */
export const StacksPicture = ({ title, subtitle, stacks }: StacksPicture) => {
  const layers = Math.max(...stacks.map(({ bands }) => (bands.at(-1)?.last ?? -1) + 1));
  const row = Math.max(4, Math.min(12, most / layers));
  const bottom = top + row * layers;
  const kinds = (['task', 'language', 'mixed', 'other'] as const).filter((kind) =>
    stacks.some(({ bands }) => bands.some(({ from }) => from === kind)),
  );
  const hasOutside = stacks.some(({ outside }) => outside !== null);
  const below = bottom + (hasOutside ? 26 : 0);
  return (
    <Picture
      {...{ title, subtitle, left }}
      description={stacks
        .map(
          ({ name, bands, outside }) =>
            `${name}: ${bands.map(({ first, last, label }) => `layers ${first} to ${last} ${label}`).join(', ')}${outside === null ? '' : `, outside ${outside}`}`,
        )
        .join('; ')}
      width={Math.max(360, left + stacks.length * (stackWidth + gutter))}
      height={below + 26 + 18 * kinds.length}
    >
      {hasOutside ? (
        <text x={left - 6} y={bottom + 19} font-size={10} fill={ink.soft} text-anchor="end">
          other
        </text>
      ) : null}
      {[0, layers - 1].map((layer) => (
        <text
          key={layer}
          x={left - 6}
          y={bottom - row * layer - row / 2 + 4}
          font-size={10}
          fill={ink.soft}
          text-anchor="end"
        >
          {layer}
        </text>
      ))}
      {stacks.map(({ name, bands, outside }, at) => {
        const x = left + at * (stackWidth + gutter);
        return (
          <g key={name}>
            <text x={x} y={top - 8} font-size={10}>
              {shortened(name)}
              <title>{name}</title>
            </text>
            {bands.map(({ first, last, from, label }) => {
              const height = row * (last - first + 1);
              const y = bottom - row * (last + 1);
              return (
                <g key={first}>
                  <rect
                    {...{ x, y, height }}
                    width={stackWidth}
                    fill={fills[from]}
                    stroke="#fff"
                    stroke-width={1}
                  >
                    <title>{`layers ${first} to ${last}: ${label}`}</title>
                  </rect>
                  {height < 11 ? null : (
                    <text
                      x={x + stackWidth / 2}
                      y={y + height / 2 + 4}
                      font-size={10}
                      text-anchor="middle"
                      fill={from === 'task' ? '#fff' : ink.text}
                    >
                      {first === last ? first : `${first}–${last}`}
                    </text>
                  )}
                </g>
              );
            })}
            {outside === null ? null : (
              <g>
                <rect x={x} y={bottom + 8} width={stackWidth} height={14} fill="none" stroke={ink.frame} />
                <text x={x + stackWidth / 2} y={bottom + 19} font-size={9} text-anchor="middle">
                  {shortened(outside.replace(/^average of .*/, 'average'))}
                  <title>{`outside the layers: ${outside}`}</title>
                </text>
              </g>
            )}
          </g>
        );
      })}
      {kinds.map((kind, at) => (
        <g key={kind}>
          <rect x={left} y={below + 14 + 18 * at} width={12} height={12} fill={fills[kind]} />
          <text x={left + 20} y={below + 24 + 18 * at} font-size={10}>
            {words[kind]}
          </text>
        </g>
      ))}
    </Picture>
  );
};
