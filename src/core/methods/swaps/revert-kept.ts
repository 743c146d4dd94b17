import { emptyTable, itemAt } from '../../base/errors/lookup.js';
import { decodeKept } from '../../tensor/kept.js';
import { elementsOf } from '../../tensor/reference.js';
import type { Rows } from '../../tensor/rows.js';
import type { Kept, MethodReport, ReportedPlan } from '../framework/declaration/method.js';

/** Counts the expert's rows and parameters in a plan, in total and per tensor. */
export const keptOf = ({ inputs, shards, recipe }: ReportedPlan): NonNullable<MethodReport['kept']> => {
  const sense: Rows = recipe['rows'] === 'output' ? 'output' : 'input';
  // A nested recipe as the expert has no input with the role `expert`.
  const hasExpert = inputs.some(({ role }) => role === 'expert');
  const isExperts = (input: number): boolean => {
    const { role } = itemAt(inputs, input);
    return hasExpert ? role === 'expert' : role !== 'base';
  };
  const tensors = emptyTable<Kept>();
  const all = { rows: 0, rowsKept: 0, parameters: 0, parametersKept: 0 };
  for (const { name, shape, expression, madeOf } of shards.flatMap((shard) => shard.tensors)) {
    const parameters = elementsOf(shape);
    const rows = shape.length === 2 ? itemAt(shape, sense === 'input' ? 1 : 0) : 1;
    const whole = madeOf.some(isExperts) ? rows : 0;
    const rowsKept =
      expression.kind === 'rowSelect'
        ? decodeKept(expression.kept, rows).reduce((total, keeps) => total + keeps, 0)
        : whole;
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
