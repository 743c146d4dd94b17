import { anyNumber, type ParameterSpec } from './framework/settings.js';
import { tensorMethod } from './framework/tensor-method.js';

/** Not given is not 1: then the bytes stay as they are. */
const scale: ParameterSpec = { ...anyNumber(), default: 1 };

/**
 * One model's tensors as they are, or times `scale` (mergekit's `passthrough`): with `slices`, for stacking layers. Where the scale is 1
 * the output is the input, byte for byte.
 */
export const passthrough = tensorMethod({
  name: 'passthrough',
  title: 'Passthrough',
  base: 'ignored',
  models: { least: 1, most: 1 },
  perModel: { scale },
  expression: ({ models: [source = { model: 0 }], perModel: [values] }) => {
    const weight = Number(values?.['scale'] ?? 1);
    return weight === 1 ? { kind: 'copy', source } : { kind: 'linear', terms: [{ source, weight }] };
  },
});
