import * as z from 'zod';
import { matrixShape } from './factored.js';
import type { MultipliedChange } from './multiplied.js';
import { tuner } from './tuner.js';

/** Multiplies W by rotations of blocks of inputs (arXiv 2306.07280), as PEFT does since 0.15. */
export const oft = tuner({
  type: 'OFT',
  title: 'OFT',
  noSum: 'multiplies the base by rotations (OFT)',
  parts: ['oft_R', 'oft_embedding_R'],
  keys: {
    oft_block_size: z.int().nonnegative().nullish(),
    r: z.int().nonnegative().default(0),
    coft: z.boolean().default(false),
    eps: z.number().nonnegative().default(6e-5),
    block_share: z.boolean().default(false),
    use_cayley_neumann: z.boolean().default(true),
    num_cayley_neumann_terms: z.int().min(1).max(1000).default(5),
  },
  ignored: ['module_dropout', 'init_weights'],
  refusal: ({ oft_block_size: size }) =>
    size === undefined || size === null
      ? {
          what: 'OFT without oft_block_size',
          reason:
            'was written by a PEFT before 0.15, which computed rotations otherwise; newer ones refuse it too',
        }
      : undefined,
  read: ({ module, find, need, invalid }, keys) => {
    const embedding = find('oft_embedding_R');
    const found = embedding ?? need('oft_R');
    const [blocks = 0, elements = 0] = found.tensor.shape;
    // Solves elements = size·(size − 1)/2, the number above the diagonal.
    const size = Math.round((1 + Math.sqrt(1 + 8 * elements)) / 2);
    if (found.tensor.shape.length !== 2 || (size * (size - 1)) / 2 !== elements)
      invalid(found, `is [${found.tensor.shape.join(', ')}], and no number of elements above a diagonal`);
    if (keys.block_share && blocks !== 1)
      invalid(found, `has ${blocks} blocks, and adapter_config.json says that one is shared (block_share)`);
    return {
      changes: [
        {
          parameter: `${module}.weight`,
          from: found,
          change: ({ shape, transposed, place, mismatch, unsupported }): MultipliedChange => {
            const isOfEmbeddings = embedding !== undefined;
            if (transposed && !isOfEmbeddings)
              unsupported('changes a transposed layer, whose outputs PEFT would rotate');
            const [, inputs] = matrixShape(shape);
            if (keys.block_share ? inputs % size !== 0 : blocks * size !== inputs)
              mismatch(
                `is [${shape.join(', ')}] in the base, and ${found.name} has ${blocks} blocks of ${size} inputs`,
              );
            return {
              kind: 'multiplied',
              by: [
                {
                  by: 'blocks',
                  size,
                  blocks,
                  // PEFT turns embeddings the other way: W·R.
                  skew: isOfEmbeddings ? 'lower' : 'upper',
                  terms: keys.use_cayley_neumann ? keys.num_cayley_neumann_terms : null,
                  limit: keys.coft ? keys.eps : null,
                  butterfly: null,
                  source: place(found.tensor),
                },
              ],
            };
          },
        },
      ],
    };
  },
});
