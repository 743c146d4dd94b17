import type { Formula } from './formula.js';
import type { Same } from './rows/same.js';

/** A model's tensor; default name: the output tensor's. */
export interface ModelTensor {
  readonly model: number;
  readonly tensor?: string;
}

/** A formula over models' tensors, as methods write it. */
export type Expression = Exclude<Formula<ModelTensor>, Same<ModelTensor>>;
