import type { Colors } from 'picocolors/types.js';
import { itemAt } from '../../core/base/errors/lookup.js';
import { visibleLine } from '../../core/base/errors/visible.js';
import { wrap } from '../../core/base/wrap.js';
import { drawChart } from '../../core/plan/card/layer-chart-text.js';
import { type LayerPicture, pictureOf } from '../../core/plan/card/layer-picture.js';
import { type Origin, rangeText, wordsOf } from '../../core/plan/card/origins.js';
import type { MergePlan } from '../../core/plan/plan.js';
import { textWidth } from '../print.js';
import { mixtures, shades } from './painted-bar.js';

const drawn = 8;

const mostRuns = 10;

/** Width of bars; smaller in a narrow terminal, so that words fit beside them. */
const barWidth = (): number => (textWidth() < 64 ? 8 : 24);

export const drawLayers = (plan: MergePlan, colours: Colors): string =>
  drawPicture(
    pictureOf(plan),
    plan.inputs.map(({ name }) => name),
    colours,
  );

export const drawPicture = (picture: LayerPicture, names: readonly string[], colours: Colors): string =>
  picture.chart === null
    ? drawStack(picture, names, colours)
    : drawNumbers({ ...picture, chart: picture.chart }, names, colours);

const drawNumbers = (
  { chart, layers, origins }: LayerPicture & { readonly chart: NonNullable<LayerPicture['chart']> },
  names: readonly string[],
  colours: Colors,
): string => {
  const tint = tintsOf(names, colours);
  const bars = drawChart(chart, layers, (bar, model) => tint(model)(bar), textWidth());
  const outside = origins.find(({ layers: range }) => range === null);
  if (outside === undefined) return bars;
  const words = wrap(visibleLine(wordsOf(outside)), textWidth() - 11);
  return [bars, ...words.map((line, index) => `  ${index === 0 ? 'outside' : '       '}  ${line}`)].join(
    '\n',
  );
};

/**
 * Draws the model as a stack, top layer first, with the origin of each part:
 *
 * layer 29  ████████████████████████  jpn-1 layer 28  ████████████████████████ layer 27
 * ░░░░░░░░░░░░░░░░░░░░░░░░  math-1
 */
const drawStack = ({ origins }: LayerPicture, names: readonly string[], colours: Colors): string => {
  const [width, paint] = [barWidth(), painter(origins, names, colours)];
  const inside = origins.filter(({ layers }) => layers !== null).toReversed();
  const runs = inside.flatMap((origin) =>
    origin.layers === null
      ? []
      : [
          {
            origin,
            labels:
              inside.length > mostRuns ? [`layers ${rangeText(origin.layers)}`] : labelsOf(origin.layers),
          },
        ],
  );
  const outside = origins
    .filter(({ layers }) => layers === null)
    .map((origin) => ({ origin, labels: ['outside'] }));
  const longest = Math.max(8, ...runs.flatMap(({ labels }) => labels.map(({ length }) => length)));
  return [...runs, ...outside]
    .flatMap(({ origin, labels }) => {
      const words = wrap(visibleLine(wordsOf(origin)), textWidth() - longest - width - 6);
      const rows = Math.max(labels.length, words.length);
      return Array.from({ length: rows }, (_, row) => {
        const bar = row < labels.length ? paint(origin) : ' '.repeat(width);
        return `  ${(labels[row] ?? '').padEnd(longest)}  ${bar}  ${words[row] ?? ''}`.trimEnd();
      });
    })
    .join('\n');
};

/** Labels of equal layers, last layer first; a long run has labels only at its ends. */
const labelsOf = ([first, last]: readonly [number, number]): string[] => {
  const all = Array.from({ length: last - first + 1 }, (_, index) => `layer ${last - index}`);
  return all.length <= drawn ? all : [...all.slice(0, 2), '    ⋮', ...all.slice(-2)];
};

/** Returns a function from model to colour; `null` means a tensor computed from several models. */
const tintsOf = (names: readonly string[], colours: Colors) => {
  const tints = [colours.blue, colours.green, colours.magenta, colours.yellow];
  return (name: string | null) => {
    const index = name === null ? -1 : names.indexOf(name);
    return index === -1 ? colours.cyan : itemAt(tints, index % tints.length);
  };
};

/** Returns a function that draws a layer in its model's shade and colour. Each mixture has its own shade. */
const painter = (origins: readonly Origin[], names: readonly string[], colours: Colors) => {
  const tint = tintsOf(names, colours);
  const mixed = [...new Set(origins.map(({ from }) => itemAt(from, 0)))].filter(
    (name) => !names.includes(name),
  );
  return ({ from }: Origin): string => {
    const name = itemAt(from, 0);
    const [all, index] = names.includes(name)
      ? [shades, names.indexOf(name)]
      : [mixtures, mixed.indexOf(name)];
    return tint(name)(itemAt(all, index % all.length).repeat(barWidth()));
  };
};
