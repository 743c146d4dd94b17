import type { Formula } from './formula.js';
import type { Same } from './same.js';

/** A tensor of the recipe's model number `model`. Its name is the output tensor's if `tensor` is absent. */
export interface ModelTensor {
  readonly model: number;
  readonly tensor?: string;
}

/** The formula of an output tensor over models' tensors, as methods write it. */
export type Expression = Exclude<Formula<ModelTensor>, Same<ModelTensor>>;
