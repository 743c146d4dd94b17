import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { extractLora, openCheckpoint, relayout } from '../../src/index.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { readTensors } from '../fixtures/merged.js';
import { type VocabularyOptions, writeVocabulary } from '../fixtures/vocabulary.js';

const tokens = Array.from({ length: 12 }, (_, index) => `t${index}`);

const write = (expert: Partial<VocabularyOptions> = {}, base: Partial<VocabularyOptions> = {}) => {
  const root = temporaryDirectory();
  const own = { tokens, dtype: 'F32', layers: 1 } as const;
  return {
    root,
    base: writeVocabulary(join(root, 'base'), { ...own, ...base, seed: 1 }),
    expert: writeVocabulary(join(root, 'expert'), { ...own, added: ['<a>', '<b>'], ...expert, seed: 2 }),
  };
};

describe.each([true, false])('an adapter of an expert with added tokens, tied: %s', (tied) => {
  it('has its embeddings whole and its tokenizer, and gives its tokens over the base', async () => {
    const { root, base, expert } = write({ tied }, { tied });
    const saved = ['model.embed_tokens.weight', ...(tied ? [] : ['lm_head.weight'])];
    const found = await extractLora({ base, expert, rank: 64 }, { out: join(root, 'adapter') });
    expect([...found.saved].sort()).toEqual(saved.toSorted());
    expect(found.warnings.join('\n')).toMatch(/expert has 14 rows of tokens, and base 12: .* saved whole/);
    expect(found.warnings.join('\n')).toContain('base.resize_token_embeddings(14)');
    expect(readdirSync(join(root, 'adapter'))).toEqual(
      expect.arrayContaining(['tokenizer.json', 'tokenizer_config.json']),
    );
    expect(readFileSync(join(root, 'adapter', 'README.md'), 'utf8')).toContain(
      'base.resize_token_embeddings(14)',
    );
    const model = `${base}+${join(root, 'adapter')}`;
    expect((await openCheckpoint(model)).config?.['vocab_size']).toBe(14);
    const { out } = await relayout({ model }, { out: join(root, 'again') });
    const [again, own] = [await readTensors(out), await readTensors(expert)];
    for (const name of saved) expect(again[name]).toEqual(own[name]);
    expect(readFileSync(join(out, 'tokenizer.json'))).toEqual(readFileSync(join(expert, 'tokenizer.json')));
  });
});

it('refuses other differences beside added tokens', async () => {
  const { root, base, expert } = write({ hidden: 32 });
  await expect(extractLora({ base, expert, rank: 4 }, { out: join(root, 'o') })).rejects.toMatchObject({
    code: expect.stringMatching(/^(SHAPE|CONFIG)_MISMATCH$/),
  });
  const other = write({ layers: 2 });
  await expect(
    extractLora({ base: other.base, expert: other.expert, rank: 4 }, { out: join(root, 'o') }),
  ).rejects.toMatchObject({ code: 'LAYER_COUNT_MISMATCH' });
});
