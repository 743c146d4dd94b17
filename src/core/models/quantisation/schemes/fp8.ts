import { asBlockSize, inEightBits } from '../float8.js';
import {
  type FoundTensor,
  invalidQuantisation,
  type QuantisationScheme,
  type QuantisedCheckpoint,
  tensorBeside,
} from '../scheme.js';

/** Names of a tensor's scales: DeepSeek's name, and the name for scales of the tensor or its channels. */
const scaleNames = (name: string): readonly string[] => [`${name}_scale_inv`, `${name}_scale`];

const ofScales = /^(?<name>.+)_scale(_inv)?$/;

/**
 * FP8 as in DeepSeek, Qwen and transformers' `FineGrainedFP8`. Each F8_E4M3 or F8_E5M2 weight has a
 * `weight_scale_inv` with a factor per block of `weight_block_size`, or a `weight_scale` per channel or for
 * the tensor.
 */
export const fp8: QuantisationScheme = {
  methods: ['fp8', 'fbgemm_fp8'],
  unconverted: ['modules_to_not_convert', 'ignored_layers'],
  find: (model) => {
    const { checkpoint, settings } = model;
    refuseLoneScales(model);
    const block = asBlockSize(settings['weight_block_size']);
    if (
      block === undefined &&
      settings['weight_block_size'] !== undefined &&
      settings['weight_block_size'] !== null
    )
      throw invalidQuantisation(
        checkpoint,
        undefined,
        'quantization_config.weight_block_size',
        `of config.json is ${JSON.stringify(settings['weight_block_size'])}, and must be two positive integers`,
      );
    const found: FoundTensor[] = [];
    for (const [name, codes] of checkpoint.tensors) {
      if (codes.dtype !== 'F8_E4M3' && codes.dtype !== 'F8_E5M2') continue;
      // Scales themselves may be 8-bit floats.
      if (ofScales.test(name)) continue;
      const names = scaleNames(name);
      const scalesName = names.find((one) => checkpoint.tensors.has(one)) ?? `${name}_scale_inv`;
      const scales = tensorBeside(checkpoint, name, scalesName);
      found.push(inEightBits(model, { name, codes, scalesName, scales, block }));
    }
    return found;
  },
};

const refuseLoneScales = ({ checkpoint }: QuantisedCheckpoint): void => {
  for (const [scalesName, scales] of checkpoint.tensors) {
    const name = ofScales.exec(scalesName)?.groups?.['name'];
    // Scales of activations and of the KV cache belong to no tensor.
    if (name === undefined || !/(^|[._])weight$|_proj$/.test(name)) continue;
    const codes = checkpoint.tensors.get(name);
    if (codes === undefined)
      throw invalidQuantisation(checkpoint, scales, scalesName, `has scales, and ${name} is missing`);
    if (codes.dtype !== 'F8_E4M3' && codes.dtype !== 'F8_E5M2')
      throw invalidQuantisation(checkpoint, codes, name, `is of ${codes.dtype}, and ${scalesName} of FP8`);
  }
};
