import { elementCount } from '../../../tensor/reference.js';
import { inEightBits } from '../float8.js';
import {
  checkShape,
  type FoundTensor,
  invalidQuantisation,
  type QuantisationScheme,
  type QuantisedCheckpoint,
  tensorBeside,
} from '../scheme.js';
import { weightSettings } from './compressed-tensors.js';

/** Modules with such a tensor do more than multiply by their weight, so they can only be copied. */
const unread = ['pre_quant_scale', 'svdquant_lora_a', 'svdquant_lora_b'];

const usualBlock = 16;

/**
 * NVIDIA's ModelOpt, as exported for transformers and vLLM. FP8: F8_E4M3 `weight` with `weight_scale` for the
 * tensor or each row. NVFP4: U8 `weight` [rows, columns/2] with two E2M1 codes per byte, F8_E4M3
 * `weight_scale` [rows, columns/16], and `weight_scale_2`, a common factor.
 */
export const modelopt: QuantisationScheme = {
  methods: ['modelopt', 'modelopt_fp4'],
  unconverted: ['ignore', 'exclude_modules'],
  find: (model) => {
    const { checkpoint } = model;
    const { tensors } = checkpoint;
    return [...tensors].flatMap(([stored, codes]): FoundTensor[] => {
      const [, module, part] = /^(.+)\.(weight|weight_scale|weight_scale_2)$/.exec(stored) ?? [];
      if (module === undefined || unread.some((one) => tensors.has(`${module}.${one}`))) return [];
      if (part !== 'weight') {
        // Throws if the weight is missing.
        tensorBeside(checkpoint, stored, `${module}.weight`);
        return [];
      }
      if (codes.dtype === 'U8') return codes.shape.length === 2 ? [nvfp4(model, module)] : [];
      if (codes.dtype !== 'F8_E4M3') return [];
      const scalesName = `${module}.weight_scale`;
      const scales = tensorBeside(checkpoint, stored, scalesName);
      return [inEightBits(model, { name: stored, codes, scalesName, scales, block: undefined })];
    });
  },
};

const nvfp4 = (model: QuantisedCheckpoint, module: string): FoundTensor => {
  const { checkpoint } = model;
  const [name, scalesName, factorName] = [
    `${module}.weight`,
    `${module}.weight_scale`,
    `${module}.weight_scale_2`,
  ];
  const codes = tensorBeside(checkpoint, name, name);
  const scales = tensorBeside(checkpoint, name, scalesName);
  const factor = tensorBeside(checkpoint, name, factorName);
  const [rows = 0, bytes = 0] = codes.shape;
  const blocks = elementCount(scales.shape) ?? 0;
  const width = 2 * bytes;
  const sizes = [...weightSettings(model.settings).map(({ block }) => block?.[1] ?? usualBlock), usualBlock];
  const block = sizes.find((size) => rows * width === blocks * size);
  if (rows * width === 0 || block === undefined)
    throw invalidQuantisation(
      checkpoint,
      scales,
      scalesName,
      `has the shape [${scales.shape.join(', ')}], and ${rows} rows of ${width} elements of NVFP4 in blocks of ${sizes.join(' or ')} need others`,
    );
  return checkShape(model, {
    name,
    shape: [rows, width],
    of: [name, scalesName, factorName],
    form: {
      codes: 'E2M1',
      rows,
      width,
      stride: width,
      block: [1, block],
      transposed: false,
      scales,
      factor: { kind: 'times', of: factor },
    },
  });
};
