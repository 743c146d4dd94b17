import type { MergePlan, PlannedTensor } from '../plan.js';
import { type ChartRow, chartOf } from './layer-chart.js';
import { describeOrigins, type Origin } from './origins.js';

/** Shows where each layer of a merge comes from, in the terminal and the model card. */
export interface LayerPicture {
  readonly layers: number;
  /** Layers from the bottom, then tensors outside the layers. */
  readonly origins: readonly Origin[];
  /** Null if `origins` suffice. */
  readonly chart: readonly ChartRow[] | null;
}

/** Maximum number of runs of equal layers without a chart. A merge of copies never gets a chart. */
const mostRuns = 10;

/** Maximum number of formulas in a run without a chart. */
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
