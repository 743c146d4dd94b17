import { operandsOf } from '../../methods/operations/index.js';
import { computedTensor } from '../../plan/operands/computed.js';
import { formulaOf } from '../../plan/operands.js';
import type { Operand } from '../../plan/plan.js';
import { operandKind, type StoredTensor, storedTensor } from '../../tensor/stored-tensor.js';

/**
 * Returns a copy of an operand or expression with other indexes of inputs.
 *
 * @param inputs the new index of each input
 */
export const withInputs = <T>(value: T, inputs: readonly number[]): T =>
  mapStored(value, (stored) => {
    const input = inputs[stored.input];
    if (input === undefined) throw new RangeError(`there is no input ${stored.input}`);
    return storedTensor(input, stored);
  });

/** True for stored tensors, and for formulas of them at any depth. */
const isOfStored = (operand: Operand): boolean => {
  if (operand[operandKind] === 'stored') return true;
  const formula = formulaOf(operand);
  return formula !== undefined && operandsOf(formula).every(isOfStored);
};

/** Returns an operand with one input's tensors set to 0; undefined unless the operand consists of stored tensors. */
export const withZero = (operand: Operand, input: number): Operand | undefined =>
  !isOfStored(operand)
    ? undefined
    : mapStored(operand, (stored) =>
        stored.input === input
          ? computedTensor('F32', { kind: 'linear', terms: [{ source: stored, weight: 0 }] })
          : stored,
      );

const mapStored = <T>(value: T, to: (stored: StoredTensor) => Operand): T => {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => mapStored(item, to)) as T;
  if ((value as { [operandKind]?: unknown })[operandKind] === 'stored')
    return to(value as unknown as StoredTensor) as T;
  const entries = Reflect.ownKeys(value).map((key) => [key, mapStored(Reflect.get(value, key), to)]);
  return Object.fromEntries(entries) as T;
};
