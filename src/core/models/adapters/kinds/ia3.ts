import * as z from 'zod';
import { elementsOf } from '../../../tensor/reference.js';
import type { MultipliedChange } from './multiplied.js';
import { type ParameterChange, tuner } from './tuner.js';

/** Scales inputs of feed-forward layers, and outputs and biases of other layers (arXiv 2205.05638). */
export const ia3 = tuner({
  type: 'IA3',
  title: 'IA3',
  noSum: 'multiplies the base (IA3)',
  parts: ['ia3_l'],
  keys: { feedforward_modules: z.union([z.string(), z.array(z.string())]).nullish() },
  ignored: ['init_ia3_weights'],
  read: ({ module, need, invalid }, { feedforward_modules: feedForward }) => {
    const scales = need('ia3_l');
    const { shape } = scales.tensor;
    const count = elementsOf(shape);
    const isOfConvolution = shape.length > 2 && shape[1] === count;
    // A convolution's shapes do not show whether inputs or outputs are scaled.
    const isOfOutputs = isOfConvolution
      ? Array.isArray(feedForward) && !feedForward.some((name) => module.endsWith(name))
      : shape.length === 2 && shape[1] === 1;
    if (!isOfOutputs && !isOfConvolution && (shape.length !== 2 || shape[0] !== 1))
      invalid(scales, `is [${shape.join(', ')}], and scales of inputs are [1, in], of outputs [out, 1]`);
    const scaled: ParameterChange = {
      parameter: `${module}.weight`,
      from: scales,
      change: ({ shape: weight, transposed, place, mismatch, unsupported }): MultipliedChange => {
        if (isOfConvolution !== weight.length > 2)
          unsupported(`scales a parameter of ${weight.length} dimensions`);
        if (isOfConvolution && !Array.isArray(feedForward))
          unsupported('scales a convolution, which is supported only if feedforward_modules is a list');
        const rows = isOfOutputs === transposed ? 'input' : 'output';
        if (weight[rows === 'output' ? 0 : 1] !== count)
          mismatch(`is [${weight.join(', ')}] in the base, and ${scales.name} is [${shape.join(', ')}]`);
        return { kind: 'multiplied', by: [{ by: 'scales', rows, source: place(scales.tensor) }] };
      },
    };
    const ofBias: ParameterChange = {
      parameter: `${module}.bias`,
      from: scales,
      optional: true,
      change: ({ shape: bias, place, mismatch }): MultipliedChange => {
        if (bias.join() !== String(count))
          mismatch(`is [${bias.join(', ')}] in the base, and ${scales.name} is [${shape.join(', ')}]`);
        return { kind: 'multiplied', by: [{ by: 'scales', rows: 'input', source: place(scales.tensor) }] };
      },
    };
    return { changes: isOfOutputs ? [scaled, ofBias] : [scaled] };
  },
});
