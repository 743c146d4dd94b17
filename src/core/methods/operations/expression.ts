import type { Formula } from './formula.js';
import type { Same } from './same.js';

/** A tensor of the recipe's model with index `model`. `tensor` defaults to the output tensor's name. */
export interface ModelTensor {
  readonly model: number;
  readonly tensor?: string;
}

/** The formula of an output tensor over models' tensors, as methods write it. */
export type Expression = Exclude<Formula<ModelTensor>, Same<ModelTensor>>;
