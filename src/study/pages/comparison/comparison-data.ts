import { keptPath } from '../../../core/base/way.js';
import type { Comparison, TensorComparison } from '../../../core/measure/comparison/comparison.js';
import type { PageComparison, PageTable } from '../components/data/data.js';
import type { HeatMapData } from '../pictures/heat-map.js';
import { layerTable, mostIn } from './layer-table.js';
import { verdictOf } from './verdict.js';

export const comparisonPicture = (comparison: Comparison): HeatMapData => {
  const table = layerTable(comparison);
  const most = mostIn(table);
  return {
    title: `${comparison.a.name} and ${comparison.b.name}`,
    subtitle: verdictOf(comparison),
    columns: table.columns,
    cells: table.cells,
    most,
    unit: '‖a − b‖ / ‖a‖',
  };
};

export const comparisonPage = (comparison: Comparison): PageComparison => {
  const { a, b, sideFiles } = comparison;
  const { columns, cells, most } = comparisonPicture(comparison);
  return {
    a: { name: a.name, path: keptPath(a.path) },
    b: { name: b.name, path: keptPath(b.path) },
    verdict: verdictOf(comparison),
    columns,
    cells: cells.map((row) => row.map((cell) => cell ?? null)),
    most,
    tensors: tensorTable(comparison.tensors),
    sideFiles: sideFiles.map(({ name, state, keys }) => ({
      label: name,
      value: [state, ...keys.map(({ key }) => key)].join(' · '),
    })),
  };
};

const columns = [
  { id: 'state', label: 'state' },
  { id: 'relative', label: 'relative, %' },
  { id: 'max', label: 'max |a − b|' },
  { id: 'rms', label: 'RMS' },
  { id: 'differing', label: 'differing, %' },
] as const;

const tensorTable = (tensors: readonly TensorComparison[]): PageTable => ({
  id: 'tensors',
  title: 'Every tensor',
  caption:
    'All tensors. Relative: ‖a − b‖ / ‖a‖. RMS: root mean square of a − b. Differing: share of elements with different values.',
  rowLabel: 'tensor',
  notes: [],
  columns,
  rows: tensors.map(({ name, state, difference, elements }) => {
    const number = (value: number | null | undefined, digits: number) =>
      value === null || value === undefined ? null : { value, digits };
    const { relative = null, differing = null } = difference ?? {};
    return {
      id: name,
      label: name,
      cells: [
        { value: state, digits: 0 },
        number(relative === null ? null : 100 * relative, 4),
        number(difference?.max, 8),
        number(difference?.rms, 8),
        number(differing === null ? null : (100 * differing) / elements, 2),
      ],
    };
  }),
});
