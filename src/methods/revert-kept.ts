import { itemAt } from '../lookup.js';
import { decodeKept } from '../tensor/kept.js';
import { elementsOf } from '../tensor/reference.js';
import type { Rows } from '../tensor/rows.js';
import type { Kept, MethodReport, ReportedPlan } from './framework/method.js';

/** Rows and parameters that a plan of `revert` keeps of the expert, in all and of each tensor. */
export const keptOf = ({ shards, recipe }: ReportedPlan): NonNullable<MethodReport['kept']> => {
  const sense: Rows = recipe['rows'] === 'output' ? 'output' : 'input';
  const tensors: Record<string, Kept> = {};
  const all = { rows: 0, rowsKept: 0, parameters: 0, parametersKept: 0 };
  for (const { name, shape, expression } of shards.flatMap((shard) => shard.tensors)) {
    const parameters = elementsOf(shape);
    const rows = shape.length === 2 ? itemAt(shape, sense === 'input' ? 1 : 0) : 1;
    const rowsKept =
      expression.kind === 'rowSelect'
        ? decodeKept(expression.kept, rows).reduce((total, keeps) => total + keeps, 0)
        : expression.kind === 'copy' && expression.source.input === 0
          ? rows
          : 0;
    const kept = {
      rows,
      rowsKept,
      parameters,
      parametersKept: rows > 0 ? (parameters / rows) * rowsKept : 0,
    };
    tensors[name] = kept;
    for (const key of ['rows', 'rowsKept', 'parameters', 'parametersKept'] as const) all[key] += kept[key];
  }
  return { all, tensors };
};
