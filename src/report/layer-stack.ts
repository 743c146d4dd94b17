import type { Colors } from 'picocolors/types.js';
import { itemAt } from '../lookup.js';
import { describeOrigins, type Origin } from '../plan/origins.js';
import type { MergePlan } from '../plan/plan.js';
import { visibleLine } from '../visible.js';

/** Largest number of equal neighbouring layers that are all drawn; of more, only the ends are. */
const drawn = 8;

/** Shades of models, by their index, and of what is computed from several: they differ without colour too. */
const shades = ['░', '█', '▓'] as const;
const mixture = '▒';
const width = 24;

/** Matches a coloured bar of `painter`: the only escape sequences that are printed. */
export const paintedBar = new RegExp(
  `(\\u001b\\[3\\dm[${shades.join('')}${mixture}]{${width}}\\u001b\\[39m)`,
);

/**
 * Draws the model as a stack, top layer first, with the origin of each part:
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
  const labelled = origins
    .toReversed()
    .flatMap((origin) => (origin.layers === null ? [] : [{ origin, labels: labelsOf(origin.layers) }]));
  const longest = labelled
    .flatMap(({ labels }) => labels)
    .reduce((most, { length }) => Math.max(most, length), 8);
  const row = (label: string, origin: Origin, first: boolean) =>
    `  ${label.padEnd(longest)}  ${paint(origin)}  ${first ? visibleLine(origin.from.join('; ')) : ''}`.trimEnd();
  const lines = labelled.flatMap(({ origin, labels }) =>
    labels.map((label, index) => row(label, origin, index === 0)),
  );
  return [...lines, ...(outside === undefined ? [] : [row('outside', outside, true)])].join('\n');
};

/** Returns the labels of a run of equal layers, last layer first; of a long run, the ends. */
const labelsOf = ([first, last]: readonly [number, number]): string[] => {
  const all = Array.from({ length: last - first + 1 }, (_, index) => `layer ${last - index}`);
  return all.length <= drawn ? all : [...all.slice(0, 2), '    ⋮', ...all.slice(-2)];
};

/** Returns a function that draws an origin's bar in the shade and colour of its model, or of a mixture. */
const painter = (names: readonly string[], colours: Colors) => {
  const tints = [colours.blue, colours.green, colours.magenta];
  return ({ from }: Origin): string => {
    const index = names.indexOf(itemAt(from, 0));
    if (index === -1) return colours.cyan(mixture.repeat(width));
    const tint = itemAt(tints, index % tints.length);
    return tint(itemAt(shades, index % shades.length).repeat(width));
  };
};
