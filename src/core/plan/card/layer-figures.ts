import { itemAt } from '../../base/errors/lookup.js';
import type { Formula } from '../../methods/operations/formula.js';
import { mapOperands, operationOf } from '../../methods/operations/index.js';
import type { Figure } from '../../methods/operations/program/operation.js';
import { adaptedIn, formulaOf, sourcesOfOperand, weightsOf } from '../operands.js';
import type { Operand, PlannedInput, PlannedTensor } from '../plan.js';

/** Returns parameters such as `weight`, with inputs' names. Multiplies out nested weights. */
export const figuresOf = (
  { expression, shape }: PlannedTensor,
  inputs: readonly PlannedInput[],
): readonly Figure<string>[] => {
  const nameOf = (input: number) => itemAt(inputs, input).name;
  const weights = weightsIn(expression);
  if (weights !== undefined)
    return [...weights].map(([input, value]) => ({ name: 'weight', of: nameOf(input), value }));
  const named = (operand: Operand): string =>
    [...new Set(sourcesOfOperand(operand).map(({ input }) => nameOf(input)))].join('+');
  return operationOf(expression).figures?.(mapOperands(expression, named), shape) ?? [];
};

const weightsIn = (formula: Formula<Operand>): ReadonlyMap<number, number> | undefined => {
  const adapted = adaptedIn(formula);
  if (adapted !== undefined) return new Map([[adapted.input, 1]]);
  const weights = new Map<number, number>();
  for (const { source, weight } of termsOf(formula) ?? []) {
    const inner = weightsInOperand(source);
    if (inner === undefined) return undefined;
    for (const [input, part] of inner) weights.set(input, (weights.get(input) ?? 0) + weight * part);
  }
  return weights.size === 0 ? undefined : weights;
};

const weightsInOperand = (operand: Operand): ReadonlyMap<number, number> | undefined => {
  const formula = formulaOf(operand);
  return formula === undefined ? weightsOf(operand) : weightsIn(formula);
};

const termsOf = (formula: Formula<Operand>): readonly { source: Operand; weight: number }[] | undefined => {
  if (formula.kind === 'linear') return formula.terms;
  if (formula.kind === 'concatenate') return formula.parts;
  if (formula.kind === 'factor') return formula.terms;
  // Takes the first part, which has nearly all rows.
  if (formula.kind === 'assemble') return [{ source: itemAt(formula.parts, 0).source, weight: 1 }];
  if (formula.kind === 'copy' || formula.kind === 'padRows' || formula.kind === 'quantise')
    return [{ source: formula.source, weight: 1 }];
  return formula.kind === 'same' ? [{ source: itemAt(formula.sources, 0), weight: 1 }] : undefined;
};
