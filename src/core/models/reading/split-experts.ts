import type { CheckpointIndex } from '../checkpoint/checkpoint.js';

const splitExpert = /(^|\.)experts\.(gate_up|down)_projs\.0\.weight$/;

/**
 * Warns of gpt-oss's experts as Unsloth holds them in four bits: linear modules of [out, in]. transformers 5 has one
 * parameter of [in, out] for all experts, and no conversion.
 */
export const splitExpertWarnings = ({ tensors, path }: CheckpointIndex): string[] => {
  const name = [...tensors.keys()].find((one) => splitExpert.test(one));
  return name === undefined
    ? []
    : [
        `${path} has a module for each expert, such as ${name}, as Unsloth holds gpt-oss in four bits; transformers 5 does not find them, and takes random experts`,
      ];
};
