import { valueAt } from '../../../base/errors/lookup.js';
import { factorNames, parseAdapterTensor, wholeName } from '../../../models/adapters/tensor-names.js';
import type { Place } from '../../../models/architecture/architecture.js';
import type { ArithmeticDtype, Dtype } from '../../../tensor/dtype.js';
import { bytesOfTensor, type Shape } from '../../../tensor/reference.js';
import type { UnplacedTensor } from '../../layout.js';
import { expressionOf } from '../../operands.js';
import type { PlannedExpression } from '../../plan.js';
import type { AdapterModel, AddedBias } from './adapter-model.js';
import { type FactorOptions, factorsOf } from './factors.js';

export interface TargetModule {
  /** The module's name without PEFT's prefix. */
  readonly module: string;
  readonly parameter: string;
  readonly rank: number;
  readonly alpha: number;
}

export interface AdapterTensors {
  readonly tensors: readonly UnplacedTensor[];
  readonly targets: readonly TargetModule[];
}

/**
 * Returns an adapter's tensors. Replaced tensors of modules with factors are named `base_layer`, as in PEFT.
 */
export const adapterTensors = (
  { changes, whole, added }: Omit<AdapterModel, 'adapters'>,
  places: ReadonlyMap<string, Place>,
  options: FactorOptions,
): AdapterTensors => {
  const { rsLora, dtype } = options;
  const tensors: UnplacedTensor[] = [];
  const targets = new Map<string, TargetModule>();
  const add = (
    name: string,
    parameter: string,
    { dtype: of, shape, expression }: { dtype: Dtype; shape: Shape; expression: PlannedExpression },
  ) =>
    tensors.push({
      name,
      dtype: of,
      shape,
      bytes: bytesOfTensor(of, shape),
      place: valueAt(places, parameter),
      expression,
    });
  for (const [parameter, change] of changes) {
    const { a, b, rank, alpha } = factorsOf(parameter, change, options);
    const parsed = parseAdapterTensor(change.names.a);
    if (parsed.kind !== 'a') throw new Error(`${change.names.a} is no name of a factor`);
    const names = factorNames(parsed.module, parsed.embedding);
    add(names.a, parameter, a);
    add(names.b, parameter, b);
    targets.set(parsed.module, { module: parsed.module, parameter, rank, alpha });
  }
  for (const [parameter, { reference, operand }] of whole) {
    const [module, last] = split(parameter);
    const inside = targets.has(module) ? `${module}.base_layer.${last}` : parameter;
    add(wholeName(inside), parameter, { ...reference, expression: expressionOf(operand, operand.dtype) });
  }
  for (const [parameter, bias] of added) {
    const target = targets.get(split(parameter)[0]);
    // A module without factors had scale 0, so its bias is 0 too.
    if (target === undefined) continue;
    const { rank, alpha } = target;
    add(bias.name, parameter, biasOf(bias, alpha / (rsLora ? Math.sqrt(rank) : rank), dtype));
  }
  return { tensors, targets: [...targets.values()] };
};

const split = (parameter: string): readonly [module: string, last: string] => {
  const dot = parameter.lastIndexOf('.');
  return [parameter.slice(0, dot), parameter.slice(dot + 1)];
};

const biasOf = (
  { reference: { shape }, terms }: AddedBias,
  scale: number,
  dtype: ArithmeticDtype | undefined,
): { dtype: Dtype; shape: Shape; expression: PlannedExpression } => {
  const [only, ...others] = terms;
  if (only !== undefined && others.length === 0 && only.coefficient === scale) {
    const { operand } = only;
    const of = dtype ?? operand.dtype;
    return { dtype: of, shape, expression: expressionOf(operand, of) };
  }
  const linear = terms.map(({ operand, coefficient }) => ({ source: operand, weight: coefficient / scale }));
  return { dtype: dtype ?? 'F32', shape, expression: { kind: 'linear', terms: linear } };
};
