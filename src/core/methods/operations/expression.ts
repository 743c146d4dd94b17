import type { Formula } from './formula.js';
import type { Same } from './rows/same.js';

/** The tensor's name; default: the output tensor's. */
export interface ModelTensor {
  readonly model: number;
  readonly tensor?: string;
}

/** A formula as methods write it, over models' tensors. */
export type Expression = Exclude<Formula<ModelTensor>, Same<ModelTensor>>;
