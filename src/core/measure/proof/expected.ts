import { draws, isPart, isWhole, operandsOf } from '../../methods/operations/index.js';
import { computedTensor } from '../../plan/operands/computed.js';
import { formulaOf } from '../../plan/operands.js';
import type { MergePlan, Operand, PlannedExpression, PlannedTensor } from '../../plan/plan.js';
import { type Dtype, isFloating } from '../../tensor/dtype.js';
import type { Shape } from '../../tensor/reference.js';

/** An expected tensor, as an operand that is computed tile by tile. */
export interface ExpectedTensor {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: Shape;
  readonly layer: number | null;
  readonly operand: Operand;
  /** True if the elements depend on random numbers that another program cannot repeat. */
  readonly isRandom: boolean;
  /** The float32 values before rounding to `dtype`. */
  readonly unrounded: Operand;
}

export interface Expected {
  readonly tensors: ReadonlyMap<string, ExpectedTensor>;
  readonly solved: readonly PlannedTensor[];
}

export const expectedOf = ({ shards }: Pick<MergePlan, 'shards'>): Expected => {
  const tensors = new Map<string, ExpectedTensor>();
  const solved: PlannedTensor[] = [];
  for (const tensor of shards.flatMap((shard) => shard.tensors)) {
    const { expression, layer } = tensor;
    if (isWhole(expression)) solved.push(tensor);
    else if (!isPart(expression))
      tensors.set(tensor.name, { ...tensor, ...operandsFor(tensor), isRandom: isRandom(expression) });
    else if (expression.kind === 'quantise' && expression.part === 'codes') {
      // Expects the values before quantisation: the output may be quantised by another scheme.
      const { of: name, shape, source } = expression;
      tensors.set(name, {
        name,
        shape,
        layer,
        dtype: source.dtype,
        operand: source,
        unrounded: source,
        isRandom: false,
      });
    }
  }
  return { tensors, solved };
};

const isRandom = (expression: PlannedExpression): boolean =>
  draws(expression) ||
  operandsOf(expression).some((operand) => {
    const formula = formulaOf(operand);
    return formula !== undefined && isRandom(formula);
  });

const operandsFor = ({ dtype, expression }: PlannedTensor): Pick<ExpectedTensor, 'operand' | 'unrounded'> => {
  if (expression.kind === 'copy') return { operand: expression.source, unrounded: expression.source };
  if (expression.kind === 'same') {
    const [source] = expression.sources;
    if (source === undefined) throw new RangeError('equal tensors have no source');
    return { operand: source, unrounded: source };
  }
  return {
    operand: computedTensor(dtype, expression),
    unrounded: computedTensor(isFloating(dtype) ? 'F32' : dtype, expression),
  };
};
