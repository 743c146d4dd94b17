import type { MergePlan, PlannedTensor } from '../plan.js';
import { type ChartRow, chartOf } from './layer-chart.js';
import { describeOrigins, type Origin } from './origins.js';

/** How the layers of a merge are made, for people: data of the terminal's and the model card's pictures. */
export interface LayerPicture {
  /** L of the output. */
  readonly layers: number;
  /** From the bottom, then of the tensors outside the layers. */
  readonly origins: readonly Origin[];
  /**
   * The merge's numbers over the layers, where they differ from layer to layer or module to module; null if
   * the origins say all.
   */
  readonly chart: readonly ChartRow[] | null;
}

/** More runs of layers than these are drawn as a chart, unless they are copies. */
const mostRuns = 10;

/** More formulas in one layer than these are drawn as a chart. */
const mostFormulas = 2;

export const pictureOf = ({
  shards,
  inputs,
  architecture,
  recipe,
}: Pick<MergePlan, 'shards' | 'inputs' | 'architecture' | 'recipe'>): LayerPicture => {
  const tensors = shards.flatMap(({ tensors: placed }) => placed);
  const origins = describeOrigins(tensors, inputs, recipe);
  const inside = origins.filter(({ layers: range }) => range !== null);
  const isMany =
    inside.length > mostRuns ||
    inside.some(({ from }) => from.length > mostFormulas) ||
    tensors.some(({ expression: { kind } }) => kind === 'rowSelect');
  const chart = isMany && !tensors.every(isMoved) ? chartOf(tensors, inputs, architecture) : [];
  return { layers: architecture.layers, origins, chart: chart.length === 0 ? null : chart };
};

const isMoved = ({ expression: { kind } }: PlannedTensor): boolean => kind === 'copy' || kind === 'same';
