import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { readVectors } from '../../src/core/measure/analysis/vectors-file.js';
import { analyze, merge } from '../../src/index.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { readTensors } from '../fixtures/merged.js';
import { decode } from '../fixtures/numbers.js';
import { type VocabularyOptions, writeVocabulary } from '../fixtures/vocabulary.js';

// Whole merges, on disks of any speed.
vi.setConfig({ testTimeout: 60_000 });

const embeddings = 'model.embed_tokens.weight';
const tokens = ['<unk>', 'a', 'b', 'c', 'd', 'e', 'f'];

const write = (models: Record<'base' | 'expert', VocabularyOptions>) => {
  const root = temporaryDirectory();
  const writeOne = (name: 'base' | 'expert') => writeVocabulary(join(root, name), models[name]);
  return { root, base: writeOne('base'), expert: writeOne('expert') };
};

const family = () =>
  write({
    base: { tokens, seed: 1, tied: true },
    expert: { tokens, added: ['<pad>', '<x>'], seed: 2, tied: true },
  });

describe('an expert that only added tokens', () => {
  it.each(['input', 'output'] as const)('is analysed by the rows that its base has: %s', async (rows) => {
    const { root, base, expert } = family();
    const out = join(root, 'analysis');
    const { warnings } = await analyze({ base, experts: [expert], rows }, { out });
    expect(warnings.join()).toContain('the first 7 of up to 9 rows');
    const { vectors, tensors } = await readVectors(join(out, 'expert.mav.safetensors'));
    expect(tensors[embeddings]?.rows).toBe(rows === 'input' ? 16 : 7);
    const [a, b] = [await readTensors(base), await readTensors(expert)].map((of) => {
      const found = of[embeddings];
      return decode('BF16', found?.data ?? new Uint8Array());
    });
    const sums = new Float64Array(rows === 'input' ? 16 : 7);
    for (let index = 0; index < 7 * 16; index++) {
      const row = rows === 'input' ? index % 16 : Math.floor(index / 16);
      sums[row] = (sums[row] ?? 0) + Math.abs(Math.fround((b?.[index] ?? 0) - (a?.[index] ?? 0)));
    }
    const expected = Float32Array.from(sums, (sum) => sum / (rows === 'input' ? 7 : 16));
    expect(vectors.get(embeddings)).toEqual(expected);
  });

  it.each(['input', 'output'] as const)('keeps its tokens where rows are reverted: %s', async (rows) => {
    const { root, base, expert: model } = family();
    const out = join(root, 'out');
    const analysis = join(root, 'analysis');
    const recipe = { method: 'revert', base, model, rows, threshold: 1e9 } as const;
    await merge(recipe, { out });
    const merged = await readTensors(out);
    const [a, b] = [await readTensors(base), await readTensors(model)];
    const [whole, ofBase, ofExpert] = [merged, a, b].map((of) => Buffer.from(of[embeddings]?.data ?? []));
    expect(whole?.subarray(0, 7 * 32)).toEqual(ofBase);
    expect(whole?.subarray(7 * 32)).toEqual(ofExpert?.subarray(7 * 32));
    expect(whole?.length).toBe(9 * 32);
    await analyze({ base, experts: [model], rows }, { out: analysis });
    await merge(recipe, { out: join(root, 'saved'), analysis });
    expect(await readTensors(join(root, 'saved'))).toEqual(merged);
    const again = join(root, 'again');
    await merge(join(out, 'layerloom.json'), { out: again });
    expect(readFileSync(join(again, 'layerloom.json'))).toEqual(readFileSync(join(out, 'layerloom.json')));
    expect(await readTensors(again)).toEqual(merged);
  });
});

it('is refused where a token has another id than in the base', async () => {
  const { root, base, expert } = write({
    base: { tokens, added: ['<pad>'] },
    expert: { tokens, added: ['<x>', '<pad>'] },
  });
  await expect(analyze({ base, experts: [expert] }, { out: join(root, 'analysis') })).rejects.toMatchObject({
    code: 'TOKENIZER_MISMATCH',
    message: expect.stringContaining('"<pad>" 8 against 7'),
  });
});
