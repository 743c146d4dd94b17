import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { partition, type TrainingParameters, trainInit } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';

const writeBase = (layers = 4, name = 'base'): string => {
  const base = join(temporaryDirectory(), name);
  writeCheckpoint(base, llama({ layers }));
  return base;
};

const partitionFile = async (
  parameters: Parameters<typeof partition>[1] = { bottom: 1, top: 1 },
  of = writeBase(),
) => {
  const out = join(temporaryDirectory(), 'partition.json');
  await partition(of, parameters, { out });
  return { out, base: of };
};

const init = async (parameters: Omit<TrainingParameters, 'partition'>, file?: string) => {
  const out = join(temporaryDirectory(), 'run');
  const given = file ?? (await partitionFile()).out;
  const result = await trainInit({ ...parameters, partition: given }, { out });
  return { ...result, config: parse(readFileSync(join(out, 'config.yaml'), 'utf8')) };
};

describe('freeze-then-train', () => {
  it('trains the part of a math preset, of the base that was partitioned', async () => {
    const { out, base } = await partitionFile();
    const { config, files, commands } = await init({ preset: 'math-1', way: 'freeze', devices: 1 }, out);
    expect(config).toMatchObject({ model_name_or_path: base, partition: 'partition.json', side: 'task' });
    expect(files).toEqual(expect.arrayContaining(['partition.json', 'train_part.py']));
    expect(commands.map(([command]) => command)).toContain('python train_part.py --config config.yaml');
  });

  it('trains the part of a language preset by LoRA in its layers alone', async () => {
    const { config, files } = await init({ preset: 'swh-1', way: 'freeze', method: 'lora' });
    expect(files).not.toContain('train_part.py');
    const [pattern] = config.lora_target_modules;
    const modules = (layer: number) => `model.layers.${layer}.self_attn.q_proj`;
    const isTarget = new RegExp(`^(?:${pattern})$`);
    expect([0, 1, 2, 3].filter((layer) => isTarget.test(modules(layer)))).toEqual([0, 3]);
  });

  it("is axolotl's unfrozen_parameters, for LoRA its layers", async () => {
    const full = await init({ preset: 'math-1', way: 'freeze', trainer: 'axolotl' });
    expect(full.config.unfrozen_parameters).toEqual(['^model.layers.(1|2).']);
    const lora = await init({ preset: 'math-1', way: 'freeze', trainer: 'axolotl', method: 'lora' });
    expect(lora.config).toMatchObject({ peft_layers_to_transform: [1, 2], peft_layers_pattern: ['layers'] });
  });

  it('in LLaMA-Factory is its freeze tuning where that can say the part, for LoRA whole names', async () => {
    const { out } = await partitionFile({ bottom: 2, top: 0 });
    const { config } = await init({ preset: 'math-1', way: 'freeze', trainer: 'llama-factory' }, out);
    expect(config).toMatchObject({ finetuning_type: 'freeze', freeze_trainable_layers: 2 });
    await expect(init({ preset: 'math-1', way: 'freeze', trainer: 'llama-factory' })).rejects.toMatchObject({
      code: 'PARTITION_UNSUPPORTED',
    });
    const lora = await init({ preset: 'math-1', way: 'freeze', trainer: 'llama-factory', method: 'lora' });
    expect(lora.config.lora_target.split(',')).toContain('model.layers.1.self_attn.q_proj');
    expect(lora.config.lora_target).not.toContain('layers.0.');
  });
});

describe('simultaneous training', () => {
  it('gives each part its own data', async () => {
    const { config, files } = await init({ preset: 'joint', way: 'simultaneous', devices: 1 });
    expect(config).toMatchObject({
      partition: 'partition.json',
      math_data: 'data/math.jsonl',
      language_data: 'data/language.jsonl',
      per_device_train_batch_size: 4,
    });
    expect(config).not.toHaveProperty('side');
    expect(files).toContain('train_simultaneous.py');
  });

  it('is estimated by its trained parameters, and without state where it keeps none', async () => {
    const { estimate, run } = await init({ preset: 'math-1', way: 'freeze' });
    const { task = 0, both = 0 } = run.partition?.parameters ?? {};
    const { parameters = 0 } = estimate ?? {};
    expect(task + both).toBeLessThan(parameters);
    expect(estimate).toMatchObject({
      memory: (4 * parameters + 12 * (task + both)) / 4,
      checkpointBytes: 8 * 4 * parameters,
      stateBytes: 2 * 8 * (task + both),
    });
    const sharded = await init({ preset: 'joint', way: 'simultaneous' });
    expect(sharded.estimate).toMatchObject({ stateBytes: 0 });
    const adapter = await init({ preset: 'math-1', way: 'freeze', method: 'lora' });
    const whole = await init({ preset: 'joint', way: 'simultaneous', method: 'lora' });
    expect(adapter.estimate?.checkpointBytes).toBeLessThan(whole.estimate?.checkpointBytes ?? 0);
  });

  it('starts one process a device, which shard the model without accelerate', async () => {
    const start = async (parameters: Partial<TrainingParameters>) => {
      const { commands, files, config, run } = await init({
        ...{ preset: 'joint', way: 'simultaneous' },
        ...parameters,
      });
      expect(files).not.toContain('accelerate.yaml');
      expect(config.per_device_train_batch_size * run.devices).toBe(run.row.batchSize);
      return commands.map(([command]) => command).find((command) => command.includes('--config'));
    };
    const program = 'train_simultaneous.py --config config.yaml';
    expect(await start({})).toBe(`torchrun --nproc_per_node 4 ${program}`);
    expect(await start({ devices: 2, method: 'lora' })).toBe(`torchrun --nproc_per_node 2 ${program}`);
    expect(await start({ method: 'lora' })).toBe(`python ${program}`);
    expect(await start({ cpu: true })).toBe(`python ${program}`);
  });

  it('has the Python package that its program imports', async () => {
    const { out, files } = await init({ preset: 'joint', way: 'simultaneous' });
    const program = readFileSync(join(out, 'train_simultaneous.py'), 'utf8');
    expect(program).toContain('from layerloom_train import');
    const start = readFileSync(join(out, 'layerloom_train', '__init__.py'), 'utf8');
    const modules = [...start.matchAll(/^from \.(\w+) import/gm)].map(
      ([, name]) => `layerloom_train/${name}.py`,
    );
    expect(modules.length).toBeGreaterThan(2);
    expect(files).toEqual(expect.arrayContaining(modules));
  });

  it('is refused where both sides train the same parameters, and for other presets and trainers', async () => {
    const { out } = await partitionFile({ bottom: 1, top: 1, others: 'both' });
    const refused = async (parameters: TrainingParameters, message: RegExp) =>
      expect(init(parameters, out)).rejects.toMatchObject({
        code: 'USAGE',
        message: expect.stringMatching(message),
      });
    await refused({ preset: 'joint', way: 'simultaneous' }, /without parameters of both sides/);
    await refused({ preset: 'math-1', way: 'simultaneous' }, /give `preset: 'joint'`/);
    await refused({ preset: 'joint', way: 'freeze' }, /`way: 'simultaneous'` for the joint preset/);
    await refused({ preset: 'math-1' }, /plain, which trains all parameters/);
  });

  it('is refused for trainers without it, and on devices that do not divide a batch', async () => {
    const joint = { preset: 'joint', way: 'simultaneous' } as const;
    await expect(init({ ...joint, trainer: 'axolotl' })).rejects.toMatchObject({ code: 'USAGE' });
    await expect(init({ ...joint, devices: 3 })).rejects.toMatchObject({ code: 'INVALID_PARAMETER' });
  });
});

describe('a partition', () => {
  it('of another base is refused, by its parameters or its name', async () => {
    const other = writeBase(3, 'other');
    const { out } = await partitionFile();
    const refused = async (given: string, message: RegExp) =>
      expect(init({ preset: 'math-1', way: 'freeze', base: given }, out)).rejects.toMatchObject({
        code: 'PARTITION_INVALID',
        message: expect.stringMatching(message),
      });
    await refused(other, /other has no model\.layers\.3\..*; partition this base, or omit `base`/);
    await refused('org/another-model', /the names differ/);
    const { config } = await init({ preset: 'math-1', way: 'freeze', base: 'org/Base' }, out);
    expect(config.model_name_or_path).toBe('org/Base');
  });

  it('that lacks parameters of the base is refused', async () => {
    const { out } = await partitionFile({ bottom: 1, top: 1 }, writeBase(3));
    await expect(init({ preset: 'math-1', way: 'freeze', base: writeBase(4) }, out)).rejects.toMatchObject({
      code: 'PARTITION_INVALID',
      message: expect.stringContaining('model.layers.3.'),
    });
  });

  it('that is no partition is refused with its file', async () => {
    const file = join(writeBase(), 'config.json');
    await expect(init({ preset: 'math-1', way: 'freeze' }, file)).rejects.toMatchObject({
      code: 'PARTITION_INVALID',
      message: expect.stringContaining(file),
    });
  });
});
