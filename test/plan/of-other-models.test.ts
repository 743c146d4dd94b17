import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { layerSwap, planMerge } from '../../src/index.js';
import { llama, llamaConfig, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { writeFamily } from '../fixtures/family.js';

const tokenizer = JSON.stringify({
  version: '1.0',
  added_tokens: [],
  model: {
    type: 'BPE',
    vocab: Object.fromEntries(Array.from({ length: 24 }, (_, id) => [`t${id}`, id])),
    merges: [],
  },
});

describe('a task expert without a tokenizer', () => {
  it("gets the language expert's, with a warning", async () => {
    const { a, b, root } = writeFamily();
    writeFileSync(join(b, 'tokenizer.json'), tokenizer);
    writeFileSync(join(b, 'tokenizer_config.json'), '{}');
    const out = join(root, 'out');
    const { warnings } = await layerSwap({ task: a, language: b, bottom: 2, top: 1 }, { out });
    expect(warnings).toContain('a has no tokenizer: the output gets that of b');
    expect(readFileSync(join(out, 'tokenizer.json'), 'utf8')).toBe(tokenizer);
    expect(readFileSync(join(out, 'tokenizer_config.json'), 'utf8')).toBe('{}');
  });

  it('keeps what it has of one', async () => {
    const { a, b } = writeFamily();
    writeFileSync(join(b, 'tokenizer.json'), tokenizer);
    writeFileSync(join(a, 'spiece.model'), 'own');
    const { files, warnings } = await planMerge({
      method: 'layer_swap',
      task: a,
      language: b,
      bottom: 2,
      top: 1,
    });
    expect(warnings.join()).not.toContain('has no tokenizer: ');
    expect(files.map(({ name }) => name)).not.toContain('tokenizer.json');
  });
});

it('models of two families are refused as such, whatever else differs', async () => {
  const root = temporaryDirectory();
  const mistral = {
    ...llama({ tied: false, layers: 4 }),
    config: { ...llamaConfig({ tied: false, layers: 4 }), model_type: 'mistral' },
  };
  const [a, b] = [join(root, 'a'), join(root, 'b')];
  mkdirSync(a);
  writeCheckpoint(a, mistral);
  writeCheckpoint(b, llama());
  await expect(planMerge({ method: 'soup', models: [a, b] })).rejects.toMatchObject({
    code: 'CONFIG_MISMATCH',
    message: expect.stringContaining('model_type "mistral" against "llama"'),
  });
});

describe("a swap by the paper's counts", () => {
  const warningsOf = async (layers: number, parameters: object = {}) => {
    const { a, b } = writeFamily({ layers });
    return (await planMerge({ method: 'layer_swap', task: a, language: b, ...parameters })).warnings;
  };

  it('warns where they are most layers, and says what --scaled makes of them', async () => {
    expect(await warningsOf(8)).toEqual([
      "7 of 8 layers are the language expert's: 5 and 2 are the paper's counts for 32 layers; `scaled` (in a file scaled: true) makes them 1 and 1",
    ]);
  });

  it('warns neither of other counts, nor of scaled ones, nor where they are half or less', async () => {
    expect(await warningsOf(8, { bottom: 4, top: 2 })).toEqual([]);
    expect(await warningsOf(8, { scaled: true })).toEqual([]);
    expect(await warningsOf(14)).toEqual([]);
  });
});
