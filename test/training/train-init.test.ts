import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { estimateText } from '../../src/cli/text/studies/estimate-text.js';
import { type TrainingParameters, trainInit } from '../../src/index.js';
import { trainingPresets } from '../../src/study/paper/training.js';
import { expertRuns } from '../../src/study/paper/training-runs.js';
import { estimateOf } from '../../src/study/training/estimate.js';
import { trainers, trainingMethods } from '../../src/study/training/settings/choices.js';
import { writeAdapter } from '../fixtures/adapters.js';
import { llama, llamaShapes, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';

const rowsFile = (): string => {
  const file = join(temporaryDirectory(), 'rows.jsonl');
  writeFileSync(file, '{"prompt": "1 + 1?", "completion": "2"}\n');
  return file;
};

const init = async (parameters: TrainingParameters) => {
  const out = join(temporaryDirectory(), 'run');
  const isTelugu = parameters.preset.startsWith('tel') || parameters.language === 'tel';
  const data = parameters.data ?? (isTelugu ? [`instructions=${rowsFile()}`] : []);
  const result = await trainInit({ ...parameters, data }, { out });
  const text = readFileSync(join(out, 'config.yaml'), 'utf8');
  return { ...result, text, config: parse(text), data: parse(readFileSync(join(out, 'data.yaml'), 'utf8')) };
};

/** The values of Table 4 by their names in each trainer's configuration. */
const names = {
  trl: { batch: 'per_device_train_batch_size', length: 'max_length', schedule: 'lr_scheduler_type' },
  axolotl: { batch: 'micro_batch_size', length: 'sequence_len', schedule: 'lr_scheduler' },
  'llama-factory': {
    batch: 'per_device_train_batch_size',
    length: 'cutoff_len',
    schedule: 'lr_scheduler_type',
  },
} as const;

describe('before a run', () => {
  const estimated = async (more: object = {}) => {
    const base = join(temporaryDirectory(), 'base');
    writeCheckpoint(base, llama({ layers: 2, hidden: 8, tied: false }));
    return await init({ preset: 'math-1', base, ...more });
  };
  const shapes = Object.entries(llamaShapes({ layers: 2, hidden: 8, tied: false }));
  const parameters = shapes.reduce((sum, [, shape]) => sum + shape.reduce((a, b) => a * b), 0);

  it('disk, memory and hours are estimated from the base', async () => {
    const { estimate, run } = await estimated();
    const tokens = 40_000 * run.row.sequenceLength;
    expect(estimate).toEqual({
      parameters,
      memory: (16 * parameters) / 4,
      checkpoints: 8,
      checkpointBytes: 8 * 4 * parameters,
      stateBytes: 2 * 8 * parameters,
      hours: expect.closeTo((8 * parameters * tokens) / (4 * 0.4 * 989e12) / 3600, 12),
    });
    expect(estimateText(estimate ?? '', 4)).toMatch(
      /^Disk: .*8 checkpoints.*\nMemory: .*each of 4 devices.*\nTime: about/,
    );
    expect(estimateText(await estimateOf([run], '/nowhere'), 4)).toMatch(
      /unknown, because .*not on this machine/,
    );
    expect(estimateText(estimate ?? '', 1)).toContain('1 H100 reaches 40 %');
  });

  it('adapters and sweeps are estimated too', async () => {
    const { estimate } = await estimated({ method: 'lora', set: { rank: [2] } });
    const matrices = shapes.filter(([name]) => name.includes('_proj'));
    const adapter = 2 * matrices.reduce((sum, [, [a = 0, b = 0]]) => sum + a + b, 0);
    expect(estimate).toMatchObject({ memory: null, checkpointBytes: 8 * 4 * adapter });
    const base = join(temporaryDirectory(), 'base');
    writeCheckpoint(base, llama({ layers: 2, hidden: 8, tied: false }));
    const parametersOf = { preset: 'math-1', base, set: { seed: [1, 2] } };
    const sweep = await trainInit(parametersOf, { out: join(temporaryDirectory(), 'sweep') });
    expect(sweep.estimate).toMatchObject({ checkpoints: 16, stateBytes: 4 * 8 * parameters });
  });

  it('a base without the modules that LoRA adapts, or that is an adapter, is said', async () => {
    const base = join(temporaryDirectory(), 'base');
    const { tensors, ...rest } = llama({ layers: 2 });
    const renamed = Object.entries(tensors).map(([name, tensor]) => [name.replace('_proj', '_mix'), tensor]);
    writeCheckpoint(base, { ...rest, tensors: Object.fromEntries(renamed) });
    const { estimate, run } = await init({ preset: 'math-1', base, method: 'lora' });
    expect(estimateText(estimate ?? '', 1)).toMatch(/^Disk: unknown, because LoRA would adapt no module/);
    writeFileSync(join(base, 'model.safetensors'), 'broken');
    expect(await estimateOf([run], base)).toMatch(/model\.safetensors/);
    const adapter = writeAdapter(join(temporaryDirectory(), 'adapter'));
    expect(await estimateOf([run], adapter)).toMatch(/adapter/);
  });
});

const cases = trainers.flatMap((trainer) =>
  trainingMethods.flatMap((method) =>
    Object.entries(expertRuns).map(([preset, row]) => ({ trainer, method, preset, row })),
  ),
);

describe('every row of Table 4', () => {
  it.each(cases)('$preset, $method, for $trainer', async ({ trainer, method, preset, row }) => {
    const { config, text } = await init({ preset, trainer, method });
    const { batch, length, schedule } = names[trainer];
    const devices = method === 'full' ? 4 : 1;
    const steps = 40_000 / row.batchSize;
    expect(config).toMatchObject({
      learning_rate: method === 'full' ? row.learningRate : Number((row.learningRate * 1000).toPrecision(6)),
      warmup_steps: row.warmup,
      weight_decay: row.weightDecay,
      max_grad_norm: row.maxGradNorm,
      adam_beta1: 0.9,
      adam_beta2: row.beta2,
      gradient_accumulation_steps: 1,
      max_steps: steps,
      save_steps: 5000 / row.batchSize,
      seed: Number(preset.at(-1)),
      [batch]: row.batchSize / devices,
      [length]: row.sequenceLength,
      [schedule]: row.schedule === 'wsd' ? 'warmup_stable_decay' : 'linear',
    });
    expect(config.lr_scheduler_kwargs?.num_decay_steps).toBe(row.schedule === 'wsd' ? steps / 10 : undefined);
    // PyYAML reads an exponent without a point as text.
    expect(text).not.toMatch(/: \d+e-\d+/);
  });
});

describe('what the paper does not state', () => {
  it('is marked beside the value, in every configuration', async () => {
    for (const trainer of trainers) {
      const { text } = await init({ preset: 'swh-1', trainer });
      for (const key of ['adam_beta1', 'warmup_steps', 'lr_scheduler_kwargs', 'bf16', 'optim(izer)?', 'seed'])
        expect(text, `${trainer}: ${key}`).toMatch(new RegExp(`^${key}:.*# .*ours`, 'm'));
      expect(text).toMatch(/^(sample_)?packing: false # ours/m);
      expect(text).toMatch(/^adam_beta2: 0.99 # Table 4$/m);
    }
  });

  it('keeps the weights that train in float32', async () => {
    expect((await init({ preset: 'math-1' })).config).toMatchObject({ dtype: 'float32', bf16: true });
    expect((await init({ preset: 'math-1', trainer: 'axolotl' })).config).toMatchObject({ bf16: false });
    const { config } = await init({ preset: 'math-1', trainer: 'llama-factory' });
    expect(config).toMatchObject({ pure_bf16: false });
  });

  it.each([
    ['trl', { completion_only_loss: true }],
    ['axolotl', { train_on_inputs: false }],
    ['llama-factory', { stage: 'sft', do_train: true, train_on_prompt: false }],
  ] as const)('has %s learn completions, not prompts', async (trainer, wanted) => {
    expect((await init({ preset: 'math-1', trainer })).config).toMatchObject(wanted);
  });

  it('gives LLaMA-Factory the stable steps, which it would otherwise make a third', async () => {
    const { config } = await init({ preset: 'ben-2', trainer: 'llama-factory' });
    expect(config.lr_scheduler_kwargs).toEqual({
      num_decay_steps: 500,
      num_stable_steps: 5000 - 300 - 500,
      decay_type: 'linear',
    });
  });
});

const presetsWithData = trainingPresets.filter((preset) => !preset.startsWith('own-'));

describe('the data', () => {
  it.each(presetsWithData)('of %s are those of Table 3, with equal ratios', async (preset) => {
    const { data } = await init({ preset });
    const kinds = preset === 'joint' ? ['math', 'language'] : [/^math/.test(preset) ? 'math' : 'language'];
    expect(data.parts.map(({ kind }: { kind: string }) => kind)).toEqual(kinds);
    for (const { samples, sets } of data.parts) {
      expect(samples).toBe(40_000);
      for (const set of sets) expect(set).toMatchObject({ ratio: 1, name: expect.any(String) });
    }
  });

  it('of Swahili leave FLORES out of xP3, and name both languages of NLLB', async () => {
    const { data } = await init({ preset: 'swh-2' });
    const [aya, nllb, , xp3] = data.parts[0].sets;
    expect(aya).toMatchObject({ hub: 'CohereForAI/aya_dataset', where: { language: 'Swahili' } });
    expect(nllb).toMatchObject({ hub: 'allenai/nllb', config: 'eng_Latn-swh_Latn' });
    expect(xp3).toMatchObject({ hub: 'bigscience/xP3mt', without_files: 'flores' });
  });

  it('say the id of today where the table prints another', async () => {
    const { data } = await init({ preset: 'jpn-1' });
    expect(data.parts[0].sets[3]).toMatchObject({
      hub: 'p1atdev/ichikara-instruction',
      printed_as: 'platdev/ichikara-instruction',
    });
  });

  it('may be own files instead, of one set or of all', async () => {
    const file = rowsFile();
    const { data } = await init({ preset: 'swh-1', data: [`nllb=${file}`] });
    expect(data.parts[0].sets[1]).toMatchObject({
      name: 'nllb',
      path: file,
      translation: { other: 'swh_Latn' },
    });
    const own = await init({ preset: 'joint', data: [`math=${file}`, `language=${file}`] });
    expect(own.data.parts).toMatchObject([
      { kind: 'math', out: 'data/math.jsonl', sets: [{ path: file }] },
      { kind: 'language', out: 'data/language.jsonl', sets: [{ path: file }] },
    ]);
  });
});

describe('the run', () => {
  it('is joint over both sets, 80 thousand samples', async () => {
    const { run, config } = await init({ preset: 'joint', language: 'tel' });
    expect(run.steps * run.row.batchSize).toBe(80_000);
    expect(config).toMatchObject({ max_steps: 20_000, learning_rate: 1e-7, save_steps: 1250 });
  });

  it('tells the commands from the data to the checkpoints, and how layers are reverted', async () => {
    const { commands } = await init({ preset: 'jpn-2', way: 'revert' });
    expect(commands.map(([command]) => command)).toEqual([
      'pip install "trl[peft]==1.16.0" pyyaml',
      'python prepare_data.py',
      'trl sft --config config.yaml --accelerate_config accelerate.yaml',
      'layerloom partition meta-llama/Llama-3.1-8B -o partition.json',
      'layerloom revert --base meta-llama/Llama-3.1-8B checkpoints/checkpoint-5000 --partition partition.json --side language -o reverted',
    ]);
  });

  it('quotes paths that a shell would divide', async () => {
    const base = join(temporaryDirectory(), "the team's base");
    writeCheckpoint(base, llama({ layers: 4 }));
    const { commands } = await init({ preset: 'math-1', way: 'revert', base });
    const word = `'${base.replace("'", "'\\''")}'`;
    expect(commands.at(-1)?.[0]).toContain(`layerloom revert --base ${word} checkpoints/`);
  });

  it('has the files that its commands name', async () => {
    const { out, files } = await init({ preset: 'math-1', trainer: 'llama-factory', method: 'lora' });
    expect(files).toEqual([
      'README.md',
      'config.yaml',
      'data.yaml',
      'data/dataset_info.json',
      'prepare_data.py',
      'train.sh',
      'training.json',
    ]);
    expect(readdirSync(out, { recursive: true })).toEqual(expect.arrayContaining([...files]));
  });
});

const refusals: [string, Partial<TrainingParameters>, string, RegExp][] = [
  ['a misspelt preset', { preset: 'math1' }, 'INVALID_PARAMETER', /did you mean math-1\?/],
  ['an unknown language', { preset: 'joint', language: 'fra' }, 'INVALID_PARAMETER', /jpn, swh, tel, ben/],
  ['a language of a row', { language: 'swh' }, 'USAGE', /`language` is for `preset: 'joint'`/],
  ['the set without a name', { preset: 'tel-1' }, 'USAGE', /does not name.*`data: 'instructions=PATH'`/],
  ['a misspelt trainer', { trainer: 'axolot' as 'axolotl' }, 'INVALID_PARAMETER', /did you mean axolotl\?/],
  ['a rank of full training', { rank: 8 }, 'USAGE', /give `method: 'lora'`/],
  ['rank 0', { method: 'lora', rank: 0 }, 'INVALID_PARAMETER', /rank: expected a whole number, 1 or more/],
  ['devices that do not divide', { devices: 3 }, 'INVALID_PARAMETER', /a divisor of the batch size 4/],
  ['fewer samples than the warm-up', { samples: 4000 }, 'INVALID_PARAMETER', /the warm-up's 1000/],
  [
    'an unreadable file',
    { data: ['./none.jsonl'] },
    'READ_FAILED',
    /none\.jsonl cannot be read: no such file/,
  ],
  ['an unknown data set', { data: ['orca=x.jsonl'] }, 'USAGE', /no data set orca; it has math, orca-math/],
  ['a file of two kinds', { preset: 'joint', data: ['x.jsonl'] }, 'USAGE', /math=x\.jsonl or language=/],
  ['freezing without a partition', { way: 'freeze' }, 'USAGE', /needs `partition` FILE/],
  ['reverting joint training', { preset: 'joint', way: 'revert' }, 'USAGE', /needs one kind of data/],
];

describe('a refusal', () => {
  it.each(refusals)('of %s', async (_what, parameters, code, message) => {
    const refused = init({ preset: 'math-1', ...parameters, data: parameters.data ?? [] });
    await expect(refused).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it('of data that are no rows names the line', async () => {
    const file = join(temporaryDirectory(), 'rows.jsonl');
    writeFileSync(file, 'Question,Answer\n');
    await expect(init({ preset: 'math-1', data: [file] })).rejects.toMatchObject({
      code: 'DATA_INVALID',
      message: expect.stringContaining(`${file}:1: is not a JSON object`),
    });
  });

  it('of a directory with files leaves them as they are', async () => {
    const out = temporaryDirectory();
    writeFileSync(join(out, 'config.yaml'), 'mine');
    await expect(trainInit({ preset: 'math-1' }, { out })).rejects.toMatchObject({ code: 'OUTPUT_INVALID' });
    expect(readdirSync(out)).toEqual(['config.yaml']);
    expect(readFileSync(join(out, 'config.yaml'), 'utf8')).toBe('mine');
  });

  it('of an output that is a file', async () => {
    const out = rowsFile();
    await expect(trainInit({ preset: 'math-1' }, { out })).rejects.toMatchObject({ code: 'OUTPUT_INVALID' });
  });
});
