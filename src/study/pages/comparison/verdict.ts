import { counted, formatCount } from '../../../core/base/format.js';
import type {
  Comparison,
  TensorComparison,
  TensorState,
} from '../../../core/measure/comparison/comparison.js';
import { isSame } from './layer-table.js';

/** Maximum number of ranges of layers to list; above it, only their number is given. */
const mostRanges = 5;

export const verdictOf = (comparison: Comparison): string =>
  `${weightsVerdict(comparison)}${sideFiles(comparison)}`;

const weightsVerdict = (comparison: Comparison): string => {
  const { tensors, equal, sameValues } = comparison;
  if (equal) {
    const parameters = tensors.reduce((total, { elements }) => total + elements, 0);
    return `equal to the bit: ${counted(tensors.length, 'tensor')}, ${formatCount(parameters)} parameters`;
  }
  if (sameValues) {
    const stored = tensors.filter(({ state }) => state === 'sameValues').length;
    return `equal in every value, not in every bit: ${stored} of ${counted(tensors.length, 'tensor')} have another dtype, or zeros or NaN with other bits`;
  }
  const compared = tensors.filter(({ state }) => state !== 'onlyInA' && state !== 'onlyInB');
  const differing = compared.filter((tensor) => !isSame(tensor));
  const lacking = lackingOf(tensors);
  if (compared.length === 0) return `the models have no tensor in common: ${lacking}`;
  const of =
    differing.length === 0
      ? `the ${compared.length} tensors in both models are equal`
      : `${differing.length} of ${counted(compared.length, 'tensor')} ${differing.length === 1 ? 'differs' : 'differ'}, ${whereOf(differing, comparison)}`;
  return lacking === '' ? of : `${of}; ${lacking}`;
};

const countOf = (tensors: readonly TensorComparison[], wanted: TensorState): number =>
  tensors.filter(({ state }) => state === wanted).length;

const lackingOf = (tensors: readonly TensorComparison[]): string =>
  (['onlyInA', 'onlyInB'] as const)
    .map((state) => ({ count: countOf(tensors, state), model: state === 'onlyInA' ? 'A' : 'B' }))
    .filter(({ count }) => count > 0)
    .map(({ count, model }) => `${counted(count, 'tensor')} only in ${model}`)
    .join(', ');

const whereOf = (differing: readonly TensorComparison[], { a, b }: Comparison): string => {
  const layers = [...new Set(differing.flatMap(({ layer }) => layer ?? []))].sort((x, y) => x - y);
  const isOutside = differing.some(({ layer }) => layer === null);
  if (layers.length === 0) return `${differing.length === 1 ? '' : 'all '}outside the layers`;
  if (layers.length === Math.max(a.layers, b.layers))
    return isOutside ? 'in all layers and outside them' : 'in all layers, none outside them';
  const all = differing.length === 1 ? '' : 'all ';
  return `${all}in ${describeLayers(layers)}${isOutside ? ' and outside the layers' : ''}`;
};

const describeLayers = (layers: readonly number[]): string => {
  const ranges: [number, number][] = [];
  for (const layer of layers) {
    const last = ranges.at(-1);
    if (last?.[1] === layer - 1) last[1] = layer;
    else ranges.push([layer, layer]);
  }
  if (ranges.length > mostRanges) return `${layers.length} layers`;
  const texts = ranges.map(([first, last]) => (first === last ? String(first) : `${first}–${last}`));
  return `${layers.length === 1 ? 'layer' : 'layers'} ${texts.join(', ')}`;
};

const sideFiles = ({ sideFiles: files }: Comparison): string => {
  const other = files
    .filter(({ state }) => state !== 'equal' && state !== 'sameContent')
    .map(({ name }) => name);
  if (other.length === 0) return '';
  const names = other.length <= 3 ? other.join(', ') : `${other.length} files beside the weights`;
  return `; ${names} ${other.length === 1 ? 'differs' : 'differ'}`;
};
