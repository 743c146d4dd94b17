import { elementsOf } from '../../../tensor/reference.js';
import type { MultipliedChange } from './multiplied.js';
import { type ParameterChange, tuner } from './tuner.js';

/** Scales inputs of feed-forward layers, and outputs of others with their biases (arXiv 2205.05638). */
export const ia3 = tuner({
  type: 'IA3',
  title: 'IA3',
  noSum: 'multiplies the base (IA3)',
  parts: ['ia3_l'],
  // The scales' shapes imply `feedforward_modules`.
  keys: {},
  ignored: ['init_ia3_weights', 'feedforward_modules'],
  read: ({ module, need, invalid }) => {
    const scales = need('ia3_l');
    const { shape } = scales.tensor;
    const count = elementsOf(shape);
    const isOfOutputs = shape.length === 2 && shape[1] === 1;
    const isOfConvolution = shape.length > 2;
    if (!isOfOutputs && !isOfConvolution && (shape.length !== 2 || shape[0] !== 1))
      invalid(scales, `is [${shape.join(', ')}], and scales of inputs are [1, in], of outputs [out, 1]`);
    const scaled: ParameterChange = {
      parameter: `${module}.weight`,
      from: scales,
      change: ({ shape: weight, transposed, place, mismatch, unsupported }): MultipliedChange => {
        if (weight.length !== 2) unsupported(`scales a parameter of ${weight.length} dimensions`);
        const rows = isOfOutputs === transposed ? 'input' : 'output';
        if (isOfConvolution || weight[rows === 'output' ? 0 : 1] !== count)
          mismatch(`is [${weight.join(', ')}] there, and ${scales.name} is [${shape.join(', ')}]`);
        return { kind: 'multiplied', by: [{ by: 'scales', rows, source: place(scales.tensor) }] };
      },
    };
    const ofBias: ParameterChange = {
      parameter: `${module}.bias`,
      from: scales,
      optional: true,
      change: ({ shape: bias, place, mismatch }): MultipliedChange => {
        if (bias.join() !== String(count))
          mismatch(`is [${bias.join(', ')}] there, and ${scales.name} is [${shape.join(', ')}]`);
        return { kind: 'multiplied', by: [{ by: 'scales', rows: 'input', source: place(scales.tensor) }] };
      },
    };
    return { changes: isOfOutputs ? [scaled, ofBias] : [scaled] };
  },
});
