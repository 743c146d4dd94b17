import * as z from 'zod';
import { matrixShape } from './factored.js';
import type { MultipliedChange } from './multiplied.js';
import { tuner } from './tuner.js';

/** Multiplies W by Householder reflections of inputs (arXiv 2405.17484). */
export const hra = tuner({
  type: 'HRA',
  title: 'HRA',
  noSum: 'multiplies the base by reflections (HRA)',
  parts: ['hra_u'],
  keys: { r: z.int().min(1).default(8), apply_GS: z.boolean().default(false) },
  ignored: ['init_weights'],
  read: ({ module, need, invalid }, { r: vectors, apply_GS: orthogonal }) => {
    const found = need('hra_u');
    const { shape: given } = found.tensor;
    if (given.length !== 2 || given[1] !== vectors)
      invalid(found, `is [${given.join(', ')}], and adapter_config.json has r ${vectors}`);
    return {
      changes: [
        {
          parameter: `${module}.weight`,
          from: found,
          change: ({ shape, transposed, place, mismatch, unsupported }): MultipliedChange => {
            if (transposed) unsupported('changes a transposed layer, for which PEFT has no HRA');
            if (matrixShape(shape)[1] !== given[0])
              mismatch(`is [${shape.join(', ')}] in the base, and ${found.name} is [${given.join(', ')}]`);
            return {
              kind: 'multiplied',
              by: [{ by: 'reflections', vectors, orthogonal, source: place(found.tensor) }],
            };
          },
        },
      ],
    };
  },
});
