import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { weightsArguments } from '../../src/study/evaluation/harness/loaded-model.js';
import { pathOf } from '../../src/study/experiment/scoring/requests/models-to-score.js';
import { weightsOfModel } from '../../src/study/store/files/weights.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';

const models = (config: Readonly<Record<string, unknown>> = {}) => {
  const root = temporaryDirectory();
  const base = writeCheckpoint(join(root, 'base'), llama());
  return { base, adapter: writeAdapter(join(root, 'lora'), lora({ config })) };
};

describe('the harness loads', () => {
  it('a checkpoint by its path', async () => {
    const { base } = models();
    expect(await weightsArguments(base, 'vllm')).toEqual({ pretrained: base });
  });

  it('a merge whose name has a plus, and no base with an adapter where the system does not say that it is there', async () => {
    const { base, adapter } = models();
    const merged = `${base}+lora`;
    expect(adapter.endsWith('lora')).toBe(true);
    symlinkSync(base, merged);
    expect(await weightsArguments(merged, 'hf')).toEqual({ pretrained: merged });
    rmSync(merged);
    symlinkSync(merged, merged);
    await expect(weightsArguments(merged, 'hf')).rejects.toMatchObject({
      code: 'READ_FAILED',
      details: { file: merged },
    });
  });

  it('an adapter with the base before the plus', async () => {
    const { base, adapter } = models();
    const reference = {
      name: 'lora',
      kind: 'reference',
      model: `lora=${base}+${adapter}`,
      tasks: [],
    } as const;
    const path = await pathOf(reference);
    expect(path).toBe(`${base}+${adapter}`);
    expect(await weightsArguments(path, 'hf')).toEqual({ pretrained: base, peft: adapter });
    expect(await weightsOfModel(path)).not.toBe(await weightsOfModel(base));
  });

  it('a merged adapter on the base that it names', async () => {
    const { base } = models();
    const { adapter } = models({ base_model_name_or_path: base });
    expect(await weightsArguments(adapter, 'hf')).toEqual({ pretrained: base, peft: adapter });
  });

  it('no adapter of which the base is not known, and none by other back ends', async () => {
    const { base, adapter } = models();
    await expect(weightsArguments(adapter, 'hf')).rejects.toMatchObject({ code: 'BASE_NEEDED' });
    for (const backend of ['vllm', 'local-completions'])
      await expect(weightsArguments(`${base}+${adapter}`, backend)).rejects.toMatchObject({
        code: 'ADAPTER_UNSUPPORTED',
      });
  });
});
