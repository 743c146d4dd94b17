import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type TrainingParameters, trainInit } from '../../src/index.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

const rows = '{"prompt": "1 + 1?", "completion": "2"}\n';

const place = () => {
  const root = temporaryDirectory();
  for (const name of ['math.jsonl', 'easy.jsonl', 'ja.jsonl']) writeFileSync(join(root, name), rows);
  return { root, at: (name: string) => join(root, name) };
};

const init = async (parameters: TrainingParameters) => {
  const out = join(temporaryDirectory(), 'runs');
  const result = await trainInit(parameters, { out });
  const configOf = (run: string) => {
    const text = readFileSync(join(out, run, 'config.yaml'), 'utf8');
    return { text, config: parse(text), data: parse(readFileSync(join(out, run, 'data.yaml'), 'utf8')) };
  };
  const manifest = JSON.parse(readFileSync(join(out, 'training.json'), 'utf8'));
  return { ...result, configOf, manifest };
};

describe('a sweep', () => {
  it('writes a run for each combination of values, and says beside each value that it was set', async () => {
    const { runs, configOf, manifest } = await init({
      preset: 'swh-1',
      set: { learning_rate: [7e-8, 2e-7], seed: [1, 2], weightDecay: [0.05] },
    });
    expect(runs.map(({ name }) => name)).toEqual([
      'swh-1-lr7e-8-s1',
      'swh-1-lr7e-8-s2',
      'swh-1-lr2e-7-s1',
      'swh-1-lr2e-7-s2',
    ]);
    const { config, text } = configOf('swh-1-lr2e-7-s2');
    expect(config).toMatchObject({ learning_rate: 2e-7, seed: 2, data_seed: 2, weight_decay: 0.05 });
    expect(text).toMatch(/^learning_rate: 2.0e-7 # set$/m);
    expect(text).toMatch(/^weight_decay: 0.05 # set$/m);
    expect(text).toMatch(/^adam_beta2: 0.99 # Table 4$/m);
    expect(manifest.runs).toHaveLength(4);
    expect(manifest.runs[3]).toMatchObject({
      name: 'swh-1-lr2e-7-s2',
      path: 'swh-1-lr2e-7-s2',
      role: 'language',
      language: 'swahili',
      steps: 5000,
      values: { learningRate: 2e-7, seed: 2, weightDecay: 0.05 },
    });
    expect(manifest.runs[3].models.map(({ step }: { step: number }) => step)).toEqual([
      625, 1250, 1875, 2500, 3125, 3750, 4375, 5000,
    ]);
  });

  it('takes every value of Table 4, and more', async () => {
    const { configOf, runs } = await init({
      preset: 'math-1',
      method: 'lora',
      set: {
        learning_rate: [1e-4],
        batch_size: [8],
        sequence_length: [512],
        weight_decay: [0],
        max_grad_norm: [2],
        schedule: ['wsd'],
        warmup: [10],
        beta2: [0.95],
        steps: [100],
        checkpoint_every: [80],
        rank: [4, 8],
      },
    });
    expect(runs.map(({ name }) => name)).toEqual(['math-1-r4', 'math-1-r8']);
    expect(configOf('math-1-r8').config).toMatchObject({
      learning_rate: 1e-4,
      per_device_train_batch_size: 8,
      max_length: 512,
      weight_decay: 0,
      max_grad_norm: 2,
      lr_scheduler_type: 'warmup_stable_decay',
      lr_scheduler_kwargs: { num_decay_steps: 10 },
      warmup_steps: 10,
      adam_beta2: 0.95,
      max_steps: 100,
      save_steps: 10,
      lora_r: 8,
      lora_alpha: 16,
    });
  });

  it('mixes data by ratios: of data sets, of files, and of kinds', async () => {
    const { configOf: ofSets } = await init({ preset: 'jpn-1', set: { mix: ['aya:1+nllb:3', 'aya'] } });
    expect(ofSets('jpn-1-mix1').data.parts[0].sets).toMatchObject([
      { name: 'aya', ratio: 1 },
      { name: 'nllb', ratio: 3 },
    ]);
    expect(ofSets('jpn-1-mix2').data.parts[0].sets).toMatchObject([{ name: 'aya', ratio: 1 }]);
    const { at } = place();
    const { configOf: ofFiles } = await init({
      preset: 'own-task',
      data: [at('math.jsonl'), at('easy.jsonl')],
      set: { mix: ['math:2+easy:1'] },
    });
    expect(ofFiles('.').data.parts[0].sets).toMatchObject([{ ratio: 2 }, { ratio: 1 }]);
    const { configOf: ofKinds } = await init({ preset: 'joint', set: { mix: ['math:1+language:3'] } });
    expect(ofKinds('.').data.parts).toMatchObject([
      { kind: 'math', samples: 20_000 },
      { kind: 'language', samples: 60_000 },
    ]);
  });

  it('trains joint SFT of every language, with hyper-parameters that are ours', async () => {
    for (const language of ['swh', 'tel', 'ben', 'jpn']) {
      const { at } = place();
      const data = language === 'tel' ? [`instructions=${at('ja.jsonl')}`] : [];
      const { runs, configOf, manifest } = await init({
        preset: 'joint',
        language,
        data,
        set: { seed: [1, 2, 3] },
      });
      expect(runs.map(({ name }) => name)).toEqual([1, 2, 3].map((seed) => `joint-${language}-s${seed}`));
      expect(manifest.runs[0].role).toBe('joint');
      expect(configOf(`joint-${language}-s1`).text).toContain('The paper has no row for this run');
    }
  });

  it.each([
    [{ set: { lerning_rate: [1e-5] } }, /learning_rate.*did you mean learning_rate\?/s],
    [{ set: { learning_rate: ['fast'] } }, /learning_rate: expected a number above 0/],
    [{ set: { seed: [1, 1] } }, /seed is set to 1 twice/],
    [{ set: { seed: [1], Seed: [2] } }, /./],
    [{ set: { steps: [10], samples: [80] } }, /steps and samples exclude each other/],
    [{ set: { seed: [1] }, seed: 3 }, /`seed` is also set in `set`/],
    [{ set: { rank: [8] } }, /rank.*lora/s],
    [{ set: { mix: ['aya:0'] } }, /ratios above 0/],
    [{ set: { mix: ['ayah:1'] } }, /ayah is not among them/],
    [{ set: { seed: Array.from({ length: 1001 }, (_, index) => index) } }, /1001 runs/],
    [{ cpu: true, trainer: 'axolotl' }, /`cpu` is for `trainer: 'trl'`/],
  ] as const)('refuses %j', async (parameters, message) => {
    const out = join(temporaryDirectory(), 'runs');
    await expect(
      trainInit({ preset: 'swh-1', ...parameters } as unknown as TrainingParameters, { out }),
    ).rejects.toThrow(message);
    expect(existsSync(out)).toBe(false);
  });
});

describe('data of your own', () => {
  it('train on the processor, with a checkpoint at every quarter and a tenth of the steps to warm up', async () => {
    const { at } = place();
    const { configOf, run, manifest } = await init({
      preset: 'own-language',
      language: 'japanese',
      data: [at('ja.jsonl')],
      cpu: true,
    });
    const { config, text } = configOf('.');
    expect(run.name).toBe('japanese');
    expect(config).toMatchObject({
      use_cpu: true,
      bf16: false,
      dtype: 'float32',
      max_steps: 250,
      save_steps: 63,
      warmup_steps: 25,
    });
    expect(text).not.toContain('# Table 4');
    expect(manifest.runs[0]).toMatchObject({ role: 'language', language: 'japanese', path: '.' });
    expect(manifest.runs[0].models.map(({ step }: { step: number }) => step)).toEqual([63, 126, 189, 250]);
  });

  it('need files, and a language its name', async () => {
    const out = join(temporaryDirectory(), 'runs');
    await expect(trainInit({ preset: 'own-task' }, { out })).rejects.toThrow(/give files of rows with `data/);
    await expect(trainInit({ preset: 'own-language' }, { out })).rejects.toThrow(/needs `language`/);
    await expect(trainInit({ preset: 'own-language', language: '../x' }, { out })).rejects.toThrow(
      /language/,
    );
    await expect(trainInit({ preset: 'own-language', language: 'all' }, { out })).rejects.toThrow(
      /language: expected .* and not all/,
    );
  });
});

describe('train.sh', () => {
  it('trains each run once, a part of them where one is named, and goes on after a failure', async () => {
    const { root, at } = place();
    const { out } = await init({ preset: 'own-task', data: [at('math.jsonl')], set: { seed: [1, 2, 3] } });
    const bin = join(root, 'bin');
    mkdirSync(bin);
    // Stand-ins that record where they ran; training fails if a file says so.
    for (const name of ['python', 'trl'])
      writeFileSync(
        join(bin, name),
        `#!/bin/bash\necho "${name} $(basename "$PWD")" >> ${at('log')}\n[ "${name}" = trl ] && [ -e fail ] && exit 1\nexit 0\n`,
      );
    for (const name of ['python', 'trl']) chmodSync(join(bin, name), 0o755);
    const run = (...args: string[]) => {
      rmSync(at('log'), { force: true });
      const env = { ...process.env, PATH: `${bin}:${process.env['PATH']}` };
      let code = 0;
      try {
        execFileSync('bash', [join(out, 'train.sh'), ...args], { env, stdio: 'pipe', cwd: root });
      } catch (error) {
        code = (error as { status: number }).status;
      }
      const log = existsSync(at('log')) ? readFileSync(at('log'), 'utf8').trim().split('\n') : [];
      return { code, log };
    };
    expect(run('1/3')).toEqual({ code: 0, log: ['python task-s2', 'trl task-s2'] });
    writeFileSync(join(out, 'task-s1', 'fail'), '');
    expect(run()).toEqual({
      code: 1,
      log: ['python task-s1', 'trl task-s1', 'python task-s3', 'trl task-s3'],
    });
    rmSync(join(out, 'task-s1', 'fail'));
    expect(run()).toEqual({ code: 0, log: ['python task-s1', 'trl task-s1'] });
    expect(run()).toEqual({ code: 0, log: [] });
    expect(run('three')).toEqual({ code: 2, log: [] });
  });

  it('of one run trains in the first part alone', async () => {
    const { at } = place();
    const { out } = await init({ preset: 'own-task', data: [at('math.jsonl')] });
    // Stand-ins that do nothing: a part's trained runs are those that it marks as ended.
    const bin = at('bin');
    mkdirSync(bin);
    for (const name of ['python', 'trl', 'accelerate'])
      writeFileSync(join(bin, name), '#!/bin/bash\n', { mode: 0o755 });
    const env = { ...process.env, PATH: `${bin}:${process.env['PATH']}` };
    const train = (part: string): boolean => {
      execFileSync('bash', [join(out, 'train.sh'), part], { env, stdio: 'pipe' });
      return existsSync(join(out, 'trained'));
    };
    expect(train('1/8')).toBe(false);
    expect(train('0/8')).toBe(true);
  });

  it('says in the list of runs which GPUs it was written for', async () => {
    const { at } = place();
    const given = { preset: 'own-task', data: [at('math.jsonl')] } as const;
    const gpus = async (more: Partial<TrainingParameters>) =>
      (await init({ ...given, ...more })).manifest.runs[0].gpus;
    expect(await gpus({})).toBe(4);
    expect(await gpus({ devices: 2 })).toBe(2);
    expect(await gpus({ method: 'lora' })).toBe(1);
    expect(await gpus({ cpu: true })).toBe(0);
  });
});
