import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { merge, type RecipeInput } from '../../src/index.js';
import { type TensorFixture, temporaryDirectory } from '../fixtures/checkpoints.js';
import { average, readTensors } from '../fixtures/merged.js';
import { type Floating, widths } from '../fixtures/numbers.js';
import { type VocabularyOptions, writeVocabulary } from '../fixtures/vocabulary.js';

const embeddings = 'model.embed_tokens.weight';

/** Writes models into a directory of the test's own. */
const models = <Name extends string>(given: Record<Name, VocabularyOptions>) => {
  const root = temporaryDirectory();
  const paths = Object.fromEntries(
    Object.entries(given).map(([name, options]) => [
      name,
      writeVocabulary(join(root, name), options as VocabularyOptions),
    ]),
  ) as Record<Name, string>;
  return { root, ...paths };
};

/** Merges into a directory beside the models, and returns its tensors and configuration. */
const merged = async (root: string, recipe: RecipeInput, threads = 2) => {
  const out = join(root, `out-${threads}`);
  await merge(recipe, { out, threads });
  const json = (name: string) => JSON.parse(readFileSync(join(out, name), 'utf8')) as Record<string, unknown>;
  return {
    out,
    tensors: await readTensors(out),
    config: json('config.json'),
    tokenizer: json('tokenizer.json'),
  };
};

/** Rows of a tensor in another order; null is a row of zeros. */
const rowsOf = (
  { dtype, shape, data }: TensorFixture,
  rows: readonly (readonly [TensorFixture, number] | number | null)[],
): TensorFixture => {
  const bytes = (shape[1] ?? 1) * widths[dtype as Floating];
  const row = (from: readonly [TensorFixture, number] | number | null): Uint8Array => {
    if (from === null) return new Uint8Array(bytes);
    const [of, index] = typeof from === 'number' ? [data, from] : [from[0].data, from[1]];
    return of.subarray(index * bytes, (index + 1) * bytes);
  };
  return { dtype, shape: [rows.length, ...shape.slice(1)], data: Buffer.concat(rows.map(row)) };
};

const at = (tensors: Readonly<Record<string, TensorFixture>>, name: string): TensorFixture => {
  const found = tensors[name];
  if (found === undefined) throw new Error(`no ${name}`);
  return found;
};

const words = ['<unk>', 'a', 'b', 'c', 'd', 'e', 'f'];

describe('a swap of experts that added tokens', () => {
  it.each([true, false])('takes the row of a token that one lacks from the other; tied: %s', async (tied) => {
    const { root, task, language } = models({
      task: { tokens: words, tied, seed: 1 },
      language: { tokens: words, added: ['<pad>'], tied, seed: 2, config: { pad_token_id: 7 } },
    });
    const { tensors, config, tokenizer } = await merged(root, {
      method: 'layer_swap',
      task,
      language,
      bottom: 1,
      top: 1,
    } as RecipeInput);
    const [a, b] = [await readTensors(task), await readTensors(language)];
    for (const name of tied ? [embeddings] : [embeddings, 'lm_head.weight']) {
      const [one, other] = [at(a, name), at(b, name)];
      const filled = rowsOf(one, [0, 1, 2, 3, 4, 5, 6, [other, 7]]);
      expect(at(tensors, name).shape).toEqual([8, 16]);
      expect(
        Buffer.from(at(tensors, name).data).equals(Buffer.from(average('BF16', [filled, other], [1, 1]))),
      ).toBe(true);
    }
    expect(config['vocab_size']).toBe(8);
    expect((tokenizer['added_tokens'] as { content: string }[]).map(({ content }) => content)).toEqual([
      '<pad>',
    ]);
  });
});
