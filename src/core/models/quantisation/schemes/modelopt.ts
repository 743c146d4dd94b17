import { elementCount } from '../../../tensor/reference.js';
import { inEightBits } from '../float8.js';
import {
  checkForm,
  type FoundTensor,
  invalidQuantisation,
  type QuantisationScheme,
  type QuantisedCheckpoint,
  tensorBeside,
} from '../scheme.js';
import { weightSettings } from './compressed-tensors.js';

/** Modules with one of these are copied only: what they compute is more than a product with their weight. */
const unread = ['pre_quant_scale', 'svdquant_lora_a', 'svdquant_lora_b'];

/** Elements that share a scale, where settings do not say it. */
const usualBlock = 16;

/**
 * NVIDIA's ModelOpt, as it exports for transformers and vLLM: `weight` of F8_E4M3 with `weight_scale` for the tensor or each
 * row; NVFP4 has `weight` [rows, columns / 2] of U8, two E2M1 codes to a byte, `weight_scale` [rows, columns / 16] of F8_E4M3,
 * and `weight_scale_2`, a factor of them all.
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
        // A scale without its weight: this looks for it.
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
  return checkForm(model, {
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
