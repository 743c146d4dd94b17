import { operandKind, type StoredTensor, storedTensor } from '../../tensor/stored-tensor.js';

/**
 * Returns a copy of an operand or expression that numbers its inputs differently.
 *
 * @param inputs the new number of each input
 */
export const withInputs = <T>(value: T, inputs: readonly number[]): T => {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => withInputs(item, inputs)) as T;
  if ((value as { [operandKind]?: unknown })[operandKind] === 'stored') {
    const stored = value as unknown as StoredTensor;
    const input = inputs[stored.input];
    if (input === undefined) throw new RangeError(`there is no input ${stored.input}`);
    return storedTensor(input, stored) as T;
  }
  const entries = Reflect.ownKeys(value).map((key) => [key, withInputs(Reflect.get(value, key), inputs)]);
  return Object.fromEntries(entries) as T;
};
