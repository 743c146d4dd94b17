import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { trainInit, trainingStatus } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';

const options = { layers: 4, hidden: 16 };

const workplace = async () => {
  const root = temporaryDirectory();
  const at = (...names: string[]) => join(root, ...names);
  writeCheckpoint(at('base'), llama({ ...options, seed: 1 }));
  writeFileSync(at('rows.jsonl'), '{"prompt": "1 + 1?", "completion": "2"}\n');
  await trainInit(
    {
      preset: 'own-task',
      base: at('base'),
      data: [at('rows.jsonl')],
      set: { seed: [1, 2], steps: [10], checkpoint_every: [40] },
    },
    { out: at('runs') },
  );
  const train = (
    run: string,
    step: number,
    loss: readonly string[] = ['2.0', '1.5', '1.2', '1.1', '1.0'],
  ) => {
    const path = at('runs', run, 'checkpoints', `checkpoint-${step}`);
    writeCheckpoint(path, llama({ ...options, seed: step }));
    const history = loss.map((value, index) => `{"step": ${index + 1}, "loss": ${value}, "grad_norm": 1.0}`);
    writeFileSync(join(path, 'trainer_state.json'), `{"log_history": [${history.join(', ')}]}`);
    return path;
  };
  const status = async () => {
    const { runs, next } = await trainingStatus([at('runs')]);
    return { next, runs: Object.fromEntries(runs.map((run) => [run.name, run])) };
  };
  return { root, at, train, status };
};

describe('the status of trainings', () => {
  it('says which runs are there, and what comes next', async () => {
    const { at, train, status } = await workplace();
    expect((await status()).runs['task-s1']).toMatchObject({ state: 'absent', expected: 2, models: [] });
    expect((await status()).next).toBeUndefined();
    train('task-s1', 5);
    expect((await status()).runs['task-s1']).toMatchObject({
      state: 'unfinished',
      problem: expect.stringContaining('1 of 2 checkpoints exist'),
    });
    train('task-s1', 10);
    const { runs, next } = await status();
    expect(runs['task-s1']).toMatchObject({
      state: 'finished',
      role: 'task',
      loss: { first: 2, last: 1 },
      models: [
        { name: 'task-s1-5', model: at('runs', 'task-s1', 'checkpoints', 'checkpoint-5') },
        { name: 'task-s1-10' },
      ],
    });
    expect(next).toMatch(
      /^layerloom experiment init --preset checkpoints --training .* -o checkpoints.yaml$/,
    );
    const { code, stdout, stderr } = await cli(['train', 'status', at('runs')]);
    expect(code).toBe(4);
    expect(stdout).toContain('finished');
    expect(stderr).toMatch(/runs that are not finished: 1 of 2/);
    train('task-s2', 5);
    train('task-s2', 10);
    expect((await cli(['train', 'status', at('runs')])).code).toBe(0);
  });

  it('tells half-written and diverged runs, and checkpoints of another base, and the rest goes on', async () => {
    const { at, train, status } = await workplace();
    train('task-s1', 5);
    const half = train('task-s1', 10);
    truncateSync(join(half, 'model.safetensors'), 100);
    train('task-s2', 5);
    train('task-s2', 10, ['2.0', '3.0', '4.0', '5.0', '6.0']);
    const { runs } = await status();
    expect(runs['task-s1']).toMatchObject({ state: 'unfinished' });
    expect(runs['task-s1']?.models[1]?.problem).toMatch(/half written|damaged/);
    expect(runs['task-s2']).toMatchObject({
      state: 'diverged',
      problem: expect.stringContaining('rose from 2.000 to 6.000'),
    });
    train('task-s2', 10, ['2.0', 'NaN', '0.0', '0.0', '0.0']);
    expect((await status()).runs['task-s2']).toMatchObject({
      state: 'diverged',
      problem: expect.stringContaining('NaN or infinite at step 2'),
    });
    writeCheckpoint(
      at('runs', 'task-s2', 'checkpoints', 'checkpoint-10'),
      llama({ layers: 4, hidden: 32, seed: 1 }),
    );
    expect((await status()).runs['task-s2']).toMatchObject({
      state: 'foreign',
      problem: expect.stringContaining('another base'),
    });
  });

  it('counts no checkpoint without its configuration, and reads the losses before a log that was cut off', async () => {
    const { train, status } = await workplace();
    const first = train('task-s1', 5);
    train('task-s1', 10);
    rmSync(join(first, 'config.json'));
    train('task-s2', 5, ['2.0', '3.0', '4.0', '5.0', '6.0']);
    writeFileSync(join(train('task-s2', 10), 'trainer_state.json'), '{"log_history": [{"step": 1, "lo');
    const { runs } = await status();
    expect(runs['task-s1']).toMatchObject({
      state: 'unfinished',
      problem: expect.stringContaining('task-s1-5: is half written (it has no config.json)'),
    });
    expect(runs['task-s2']).toMatchObject({ state: 'diverged' });
  });

  it('prints commands that a shell takes, wherever the runs are', async () => {
    const { at } = await workplace();
    renameSync(at('runs'), at("it's $HOME"));
    const { code, stdout, stderr } = await cli(['train', 'status', at("it's $HOME")]);
    expect(code).toBe(4);
    const [, command] = /has no checkpoint yet: (bash .*)/.exec(stdout) ?? [];
    expect(execFileSync('bash', ['-c', `printf '%s|' ${command}`]).toString()).toMatch(
      /^bash\|\S.*\/it's \$HOME\/task-s1\/train\.sh\|$/,
    );
    expect(stderr).toContain('(task-s1: has no checkpoint yet: bash ');
  });

  it('tells tensors that the base does not have, other than those that say nothing', async () => {
    const { train, status } = await workplace();
    const path = train('task-s1', 5);
    const fixture = llama({ ...options, seed: 5 });
    const table = { dtype: 'F32', shape: [2], data: Buffer.alloc(8) } as const;
    const withTensor = (name: string) =>
      writeCheckpoint(path, { ...fixture, tensors: { ...fixture.tensors, [name]: table } });
    withTensor('model.layers.0.self_attn.rotary_emb.inv_freq');
    expect((await status()).runs['task-s1']?.models[0]).not.toHaveProperty('problem');
    withTensor('v_head.summary.weight');
    expect((await status()).runs['task-s1']).toMatchObject({
      state: 'foreign',
      problem: expect.stringContaining('v_head.summary.weight is not a tensor of the base'),
    });
  });

  it('allows a head beside embeddings that it is tied to, which some trainers write', async () => {
    const { at, train, status } = await workplace();
    const tied = llama({ ...options, seed: 1, tied: true });
    writeCheckpoint(at('base'), tied);
    const path = train('task-s1', 5);
    const untied = llama({ ...options, seed: 5, tied: false });
    const copy = {
      ...untied.tensors,
      'lm_head.weight': untied.tensors['model.embed_tokens.weight'] as never,
    };
    writeCheckpoint(path, { config: tied.config, tensors: copy });
    expect((await status()).runs['task-s1']?.models[0]).not.toHaveProperty('problem');
    writeCheckpoint(path, untied);
    expect((await status()).runs['task-s1']).toMatchObject({ state: 'foreign' });
  });

  it('is named by what one run, too, has printed', async () => {
    const { at } = await workplace();
    const given = ['--preset', 'own-task', '--base', at('base'), '--data', at('rows.jsonl'), '-o', at('one')];
    expect((await cli(['train', 'init', ...given])).stdout).toMatch(/^ {2}layerloom train status \. +# /m);
    expect((await cli(['train', 'status', at('one')])).code).toBe(4);
  });

  it('refuses what is no training, trainings of two bases, and two runs of one name', async () => {
    const { at } = await workplace();
    await expect(trainingStatus([at('base')])).rejects.toMatchObject({ code: 'TRAINING_INVALID' });
    const list = JSON.parse(readFileSync(at('runs', 'training.json'), 'utf8'));
    const write = (name: string, value: object) => {
      mkdirSync(at(name), { recursive: true });
      writeFileSync(at(name, 'training.json'), JSON.stringify(value));
      return at(name);
    };
    await expect(trainingStatus([at('runs'), write('same', list)])).rejects.toThrow(
      /has a run task-s1, which/,
    );
    await expect(
      trainingStatus([at('runs'), write('other', { ...list, base: '/elsewhere' })]),
    ).rejects.toThrow(/need the same base; give only directories with the same base$/);
    await expect(
      trainingStatus([write('twice', { ...list, runs: [...list.runs, ...list.runs] })]),
    ).rejects.toThrow(/has two runs task-s1; rename one in its training\.json/);
    const [run] = list.runs;
    for (const path of ['../../etc', '/etc', 'a/../../b'])
      await expect(
        trainingStatus([write('hostile', { ...list, runs: [{ ...run, path }] })]),
      ).rejects.toMatchObject({ code: 'TRAINING_INVALID' });
  });
});
