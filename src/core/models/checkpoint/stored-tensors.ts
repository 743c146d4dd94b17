import type { CheckpointIndex } from './checkpoint.js';

/** Returns tensors by their names in files. */
export const storedTensors = ({
  tensors,
  stored,
  quantisation,
  fusedExperts,
}: CheckpointIndex): CheckpointIndex['tensors'] =>
  stored ?? quantisation?.stored ?? fusedExperts?.stored ?? tensors;
