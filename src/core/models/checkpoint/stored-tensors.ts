import type { CheckpointIndex } from './checkpoint.js';

/** Returns a checkpoint's tensors by their names in its files. */
export const storedTensors = ({
  tensors,
  stored,
  quantisation,
  fusedExperts,
}: CheckpointIndex): CheckpointIndex['tensors'] =>
  stored ?? quantisation?.stored ?? fusedExperts?.stored ?? tensors;
