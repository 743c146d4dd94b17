import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeAdapter, summariseAdapter } from '../../src/cli/text/models/inspect-adapter.js';
import { diff, openCheckpoint, relayout } from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { openAdapter } from '../fixtures/open-adapter.js';

describe('diff of BASE+ADAPTER', () => {
  it('compares computed values: with the model written out none differs, with the base those of the adapter', async () => {
    const root = temporaryDirectory();
    const base = writeCheckpoint(join(root, 'base'), llama());
    const model = `${base}+${writeAdapter(join(root, 'lora'), lora({ targets: ['q_proj'] }))}`;
    const { out } = await relayout({ model }, { out: join(root, 'full') });
    expect(await diff(model, out)).toMatchObject({ equal: true });
    const { tensors } = await diff(model, base);
    const differing = tensors.filter(({ state }) => state !== 'equal');
    expect(differing).toHaveLength(8);
    for (const { name, difference } of differing) {
      expect(name).toMatch(/q_proj\.weight$/);
      expect(difference?.differing).toBeGreaterThan(200);
    }
  });
});

describe('summaryOfAdapter', () => {
  it('shows ranks, scales, modules and parameters', async () => {
    const adapter = await openAdapter(
      writeAdapter(
        join(temporaryDirectory(), 'lora'),
        lora({ ranks: { 'layers.0.self_attn.q_proj': 2 }, saved: ['model.norm.weight'] }),
      ),
    );
    const summary = summariseAdapter(adapter);
    expect(summary).toMatchObject({
      kind: 'adapter',
      name: 'lora',
      base: 'org/base',
      rank: 4,
      replaced: ['model.norm.weight'],
    });
    const text = describeAdapter(summary);
    expect(text).toMatch(/self_attn\.q_proj +layer 0 +rank 2 +alpha 8 +scale 4 +2 tensors/);
    expect(text).toMatch(/self_attn\.q_proj +layers 1–7 +rank 4 +alpha 8 +scale 2 +14 tensors/);
    expect(text).toMatch(/replaced whole: model\.norm\.weight/);
  });

  it('is named like the adapter, with the files of both', async () => {
    const root = temporaryDirectory();
    const base = writeCheckpoint(join(root, 'base'), { ...llama(), files: { 'tokenizer.json': '{}' } });
    const adapter = writeAdapter(join(root, 'lora'), lora(), {
      'tokenizer.json': '{"a": 1}',
      'README.md': '#',
    });
    const opened = await openCheckpoint(`${base}+${adapter}`);
    expect(opened).toMatchObject({
      name: 'lora',
      path: `${base}+${adapter}`,
      sideFiles: ['config.json', 'tokenizer.json'],
    });
    expect(opened.files.map(({ path }) => path)).toEqual([
      join(base, 'model.safetensors'),
      join(adapter, 'adapter_model.safetensors'),
    ]);
    expect((await openCheckpoint(`mine=${base}+${adapter}`)).name).toBe('mine');
  });
});
