import * as z from 'zod';
import type { RowRun } from '../../tokenizer/vocabulary.js';
import type { RowsChange } from './rows.js';
import { tuner } from './tuner.js';

const indices = z.array(z.int().nonnegative()).min(1);

/** Values of `token_indices` and LoRA's `trainable_token_indices`: a list, or lists by module. */
export const tokenIndices = z.union([indices, z.record(z.string(), indices)]);

/** Returns a module's tokens. A list without modules is for the embeddings. */
const tokensOf = (given: z.output<typeof tokenIndices>, module: string): readonly number[] | undefined => {
  if (Array.isArray(given)) return given;
  return Object.entries(given).find(([name]) => `.${module}`.endsWith(`.${name}`))?.[1];
};

/** Replaces the embeddings' rows of single tokens. */
export const tokens = tuner({
  type: 'TRAINABLE_TOKENS',
  title: 'trainable tokens',
  noSum: 'replaces single rows of the embeddings (trainable tokens)',
  parts: ['trainable_tokens_delta'],
  mayBeLarge: true,
  keys: { token_indices: tokenIndices },
  ignored: ['init_weights'],
  read: ({ module, need, invalid }, { token_indices: given }) => {
    const delta = need('trainable_tokens_delta');
    const wanted = tokensOf(given, module);
    const [count, width] = delta.tensor.shape;
    if (wanted === undefined || delta.tensor.shape.length !== 2 || count !== wanted.length)
      return invalid(
        delta,
        `is [${delta.tensor.shape.join(', ')}], and adapter_config.json names ${wanted?.length ?? 'no'} tokens of ${module}`,
      );
    if (new Set(wanted).size !== wanted.length) invalid(delta, 'has several rows for one token');
    const rows = [...wanted.entries()].map(([from, to]): RowRun => [to, from, 1]).sort(([a], [b]) => a - b);
    return {
      changes: [
        {
          parameter: `${module}.weight`,
          from: delta,
          tied: wanted.join(),
          change: ({ shape, place, mismatch }): RowsChange => {
            const last = rows.at(-1)?.[0] ?? 0;
            if (shape.length !== 2 || shape[1] !== width || last >= (shape[0] ?? 0))
              mismatch(
                `is [${shape.join(', ')}] in the base, and ${delta.name} has rows of ${width} up to token ${last}`,
              );
            return { kind: 'rows', rows, tensor: place(delta.tensor) };
          },
        },
      ],
    };
  },
});
