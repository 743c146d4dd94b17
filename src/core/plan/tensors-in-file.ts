import type { TensorToWrite } from '../models/checkpoint/containers/container-writer.js';
import { bytesOfTensor } from '../tensor/reference.js';
import type { PlannedTensor } from './plan.js';

/** Returns a tensor's name in its file; parts have the whole tensor's name. */
export const nameInFile = ({ name, part }: Pick<PlannedTensor, 'name' | 'part'>): string =>
  part?.name ?? name;

const joined = <T extends Pick<PlannedTensor, 'name' | 'dtype' | 'shape' | 'part'>>(
  planned: readonly T[],
): (readonly [first: T, ...more: T[]])[] => {
  const tensors: [T, ...T[]][] = [];
  for (const tensor of planned) {
    const last = tensors.at(-1);
    if (last?.[0].part !== undefined && last[0].part.name === tensor.part?.name) last.push(tensor);
    else tensors.push([tensor]);
  }
  return tensors;
};

export const tensorsInFile = (
  planned: readonly Pick<PlannedTensor, 'name' | 'dtype' | 'shape' | 'part'>[],
): readonly TensorToWrite[] =>
  joined(planned).map((parts) => {
    const [{ name, dtype, shape, part }] = parts;
    const bytes = parts.reduce((total, one) => total + bytesOfTensor(one.dtype, one.shape), 0);
    return { name: part?.name ?? name, dtype, shape: part?.shape ?? shape, bytes };
  });

export const placedInFile = (
  planned: readonly PlannedTensor[],
): readonly Pick<PlannedTensor, 'name' | 'dtype' | 'shape' | 'begin' | 'end'>[] =>
  joined(planned).map((parts) => {
    const [{ name, dtype, shape, part, begin }] = parts;
    const { end } = parts.at(-1) ?? parts[0];
    return { name: part?.name ?? name, dtype, shape: part?.shape ?? shape, begin, end };
  });
