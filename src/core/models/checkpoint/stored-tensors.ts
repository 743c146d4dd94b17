import type { CheckpointIndex } from './checkpoint.js';

/** Returns the tensors of a checkpoint by the names that its files give them. */
export const storedTensors = ({
  tensors,
  stored,
  quantisation,
  fusedExperts,
}: CheckpointIndex): CheckpointIndex['tensors'] =>
  stored ?? quantisation?.stored ?? fusedExperts?.stored ?? tensors;
