import type { Colors } from 'picocolors/types.js';
import { describeOrigins, type Origin } from '../plan/origins.js';
import type { MergePlan } from '../plan/plan.js';
import { visibleLine } from '../visible.js';

/** Layers of one run that are drawn before the middle is left out. */
const drawn = 8;

/** Shades that differ without colour too: one model's layers are not another's, and a mixture is neither. */
const shades = ['░', '█', '▓'] as const;
const mixture = '▒';
const width = 24;

/** A bar in its colour, as `painter` makes them: the only escape sequences that are printed. */
export const paintedBar = new RegExp(
  `(\\u001b\\[3\\dm[${shades.join('')}${mixture}]{${width}}\\u001b\\[39m)`,
);

/**
 * The model as a stack, top layer first, and where each part comes from:
 *
 *     layer 29  ████████████████████████  jpn-1
 *     layer 28  ████████████████████████
 *     layer 27  ░░░░░░░░░░░░░░░░░░░░░░░░  math-1
 */
export const drawLayerStack = ({ shards, inputs }: MergePlan, colours: Colors): string => {
  const origins = describeOrigins(
    shards.flatMap(({ tensors }) => tensors),
    inputs,
  );
  const paint = painter(
    inputs.map(({ name }) => name),
    colours,
  );
  const outside = origins.find(({ layers }) => layers === null);
  const layers = origins.filter(({ layers: range }) => range !== null).toReversed();
  const top = layers[0]?.layers?.[1] ?? 0;
  const label = Math.max(8, `layer ${top}`.length);
  const row = (name: string, origin: Origin, first: boolean) =>
    `  ${name.padEnd(label)}  ${paint(origin)}  ${first ? visibleLine(origin.from.join('; ')) : ''}`.trimEnd();
  const lines = layers.flatMap((origin) =>
    rowsOf(origin).map((name, index) => row(name, origin, index === 0)),
  );
  return [...lines, ...(outside === undefined ? [] : [row('outside', outside, true)])].join('\n');
};

/** The labels of a run's rows; of a long one the ends. */
const rowsOf = ({ layers }: Origin): string[] => {
  const [first, last] = layers ?? [0, 0];
  const all = Array.from({ length: last - first + 1 }, (_, index) => `layer ${last - index}`);
  return all.length <= drawn ? all : [...all.slice(0, 2), '    ⋮', ...all.slice(-2)];
};

/** A bar for an origin: each model has its shade and colour; what is computed from several has one more. */
const painter = (names: readonly string[], colours: Colors) => {
  const tints = [colours.blue, colours.green, colours.magenta];
  return ({ from: [main = ''] }: Origin): string => {
    const index = names.indexOf(main);
    if (index === -1) return colours.cyan(mixture.repeat(width));
    return (tints[index % tints.length] ?? colours.blue)(
      (shades[index % shades.length] ?? mixture).repeat(width),
    );
  };
};
