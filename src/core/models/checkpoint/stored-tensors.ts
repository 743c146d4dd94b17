import type { CheckpointIndex } from './checkpoint.js';

export const storedTensors = ({
  tensors,
  stored,
  quantisation,
  fusedExperts,
}: CheckpointIndex): CheckpointIndex['tensors'] =>
  stored ?? quantisation?.stored ?? fusedExperts?.stored ?? tensors;
