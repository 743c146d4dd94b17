import type { Formula } from './formula.js';
import type { Same } from './same.js';

/** A tensor of one of a recipe's models: by its index in `models`, and by the output tensor's name unless it has one of its own. */
export interface ModelTensor {
  readonly model: number;
  readonly tensor?: string;
}

/** A tensor as a method makes it of models' tensors. */
export type Expression = Exclude<Formula<ModelTensor>, Same<ModelTensor>>;
