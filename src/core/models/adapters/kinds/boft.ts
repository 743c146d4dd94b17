import * as z from 'zod';
import { bytesOfTensor, type TensorReference } from '../../../tensor/reference.js';
import { matrixShape } from './factored.js';
import type { MultipliedChange, Multiplier } from './multiplied.js';
import { tuner } from './tuner.js';

/** Multiplies W by a butterfly of rotated blocks of inputs, then by scales of outputs (arXiv 2311.06243). */
export const boft = tuner({
  type: 'BOFT',
  title: 'BOFT',
  noSum: 'multiplies the base by rotations (BOFT)',
  parts: ['boft_R', 'boft_s'],
  keys: {
    boft_block_size: z.int().nonnegative().default(4),
    boft_block_num: z.int().nonnegative().default(0),
    boft_n_butterfly_factor: z.int().min(1).max(32).default(1),
  },
  ignored: ['boft_dropout', 'init_weights'],
  read: ({ module, need, invalid }, keys) => {
    const [rotations, scales] = [need('boft_R'), need('boft_s')];
    const { shape: given } = rotations.tensor;
    const [stages = 0, blocks = 0, size = 0, across] = given;
    // Without its CUDA extension, PEFT trains a single stage, whatever the configuration says.
    const hasStages = stages === 1 || stages === keys.boft_n_butterfly_factor;
    if (given.length !== 4 || size !== across || !hasStages)
      invalid(
        rotations,
        `is [${given.join(', ')}], and no ${keys.boft_n_butterfly_factor} stages of square blocks`,
      );
    return {
      changes: [
        {
          parameter: `${module}.weight`,
          from: rotations,
          change: ({ shape, transposed, place, mismatch, unsupported }): MultipliedChange => {
            if (transposed) unsupported('changes a transposed layer, whose outputs PEFT would rotate');
            const [outputs, inputs] = matrixShape(shape);
            const isButterfly = stages === 1 || (size % 2 === 0 && blocks % 2 ** (stages - 1) === 0);
            if (blocks * size !== inputs || !isButterfly)
              mismatch(
                `is [${shape.join(', ')}] in the base, and ${rotations.name} is [${given.join(', ')}]`,
              );
            const wanted = shape.length === 2 ? [outputs, 1] : [1, outputs];
            if (scales.tensor.shape.join() !== wanted.join())
              mismatch(
                `is [${shape.join(', ')}] in the base, and ${scales.name} is [${scales.tensor.shape.join(', ')}]`,
              );
            const whole = place(rotations.tensor);
            const turns = Array.from(
              { length: stages },
              (_, stage): Multiplier<TensorReference> => ({
                by: 'blocks',
                size,
                blocks,
                skew: 'whole',
                terms: null,
                limit: null,
                butterfly: stages === 1 ? null : { stage, stages },
                source: stageOf(whole, stage),
              }),
            );
            return {
              kind: 'multiplied',
              by: [...turns, { by: 'scales', rows: 'output', source: place(scales.tensor) }],
            };
          },
        },
      ],
    };
  },
});

const stageOf = (tensor: TensorReference, stage: number): TensorReference => {
  const shape = tensor.shape.slice(1);
  const bytes = bytesOfTensor(tensor.dtype, shape);
  const begin = tensor.begin + stage * bytes;
  return { ...tensor, begin, end: begin + bytes, shape };
};
