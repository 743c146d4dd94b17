import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { trainingStatus } from '../../src/index.js';
import { seeded } from '../fixtures/scored.js';
import { end, trainingRun, until, wholeIn } from '../fixtures/training-run.js';

// A killed script leaves its trainer running, which may end before the next kill: so this is last.
const ways = ['SIGTERM', 'SIGINT', 'SIGHUP', 'all', 'trainer', 'SIGKILL'];

describe('train.sh', () => {
  it('loses no checkpoint when it is killed at any moment, and says the truth about the run', {
    timeout: 300_000,
  }, async () => {
    const random = seeded(Number(process.env['LAYERLOOM_SEED'] ?? 7));
    const here = await trainingRun();
    const seen = new Set<string>();
    const states = new Set<string>();
    let kills = 0;
    for (let turn = 0; turn < 60 && !existsSync(here.at('trained')); turn += 1) {
      const { child, ended } = here.start([], 120);
      // Every third time another start meets it.
      const other = turn % 3 === 2 ? here.start([], 120) : undefined;
      await Promise.race([ended, pause(kills < 14 ? 200 + random() * 1300 : 60_000)]);
      if (child.exitCode === null && child.signalCode === null) {
        end(child, here, ways[turn % ways.length] ?? 'SIGKILL');
        kills += 1;
      }
      await ended;
      if (other !== undefined) {
        await Promise.race([other.ended, pause(300)]);
        end(other.child, here, 'SIGTERM');
        await other.ended;
      }
      const whole = wholeIn(here);
      expect([...seen].filter((name) => !whole.includes(name))).toEqual([]);
      for (const name of whole) seen.add(name);
      const { state, models } = await here.status();
      states.add(state);
      expect(['absent', 'unfinished', 'running', 'finished']).toContain(state);
      if (state === 'finished') expect(models).toHaveLength(5);
    }
    expect(existsSync(here.at('two-trainers'))).toBe(false);
    expect(existsSync(here.at('overwritten'))).toBe(false);
    expect([...seen].sort()).toEqual([
      'checkpoint-12',
      'checkpoint-16',
      'checkpoint-20',
      'checkpoint-4',
      'checkpoint-8',
    ]);
    expect(kills).toBeGreaterThan(2);
    expect([...states]).toEqual(expect.arrayContaining(['unfinished', 'finished']));
    expect(await here.status()).toMatchObject({ state: 'finished' });
  });

  it('goes on from the last whole checkpoint, and sets a half-written one aside', async () => {
    const here = await trainingRun();
    const { child, ended } = here.start([], 40);
    await until(() => wholeIn(here).includes('checkpoint-8'));
    end(child, here, 'all');
    await ended;
    mkdirSync(here.at('checkpoints', 'checkpoint-12'));
    writeFileSync(here.at('checkpoints', 'checkpoint-12', 'model.safetensors'), 'half');
    const { state, problem } = await here.status();
    expect(state).toBe('unfinished');
    expect(problem).toMatch(/2 of 5 checkpoints exist; .*train\.sh' goes on from checkpoint-8$/);
    const { code, said } = await here.train();
    expect({ code, said }).toMatchObject({
      code: 0,
      said: expect.stringContaining('goes on from checkpoint-8'),
    });
    expect(here.log()).toEqual(['begin', 'checkpoints/checkpoint-8']);
    expect(
      readFileSync(here.at('checkpoints', 'set-aside-1', 'checkpoint-12', 'model.safetensors'), 'utf8'),
    ).toBe('half');
    expect(existsSync(here.at('overwritten'))).toBe(false);
    expect(await here.status()).toMatchObject({ state: 'finished' });
    expect(existsSync(here.at('.train-lock'))).toBe(false);
  });

  it.each([
    ['its weights are cut off', (path: string) => truncateSync(join(path, 'model.safetensors'), 40)],
    ['the log is cut off', (path: string) => truncateSync(join(path, 'trainer_state.json'), 40)],
    [
      'the log is of another step',
      (path: string) => writeFileSync(join(path, 'trainer_state.json'), '{"global_step": 3}'),
    ],
    ['it has no configuration', (path: string) => rmSync(join(path, 'config.json'))],
    ['the state of the optimiser is cut off', (path: string) => truncateSync(join(path, 'optimizer.pt'), 12)],
    ['the state of the optimiser was removed', (path: string) => rmSync(join(path, 'optimizer.pt'))],
    ['the schedule is missing', (path: string) => rmSync(join(path, 'scheduler.pt'))],
  ])('does not go on from a checkpoint where %s', async (_what, damage) => {
    const here = await trainingRun();
    const { child, ended } = here.start([], 40);
    await until(() => wholeIn(here).includes('checkpoint-8'));
    end(child, here, 'all');
    await ended;
    damage(here.at('checkpoints', 'checkpoint-8'));
    expect((await here.train()).code).toBe(0);
    expect(here.log()).toEqual(['begin', 'checkpoints/checkpoint-4']);
    expect(readdirSync(here.at('checkpoints', 'set-aside-1'))).toContain('checkpoint-8');
  });

  it('sets checkpoints aside from which no trainer goes on only if it is told to', async () => {
    const here = await trainingRun();
    const config = readFileSync(here.at('config.yaml'), 'utf8');
    writeFileSync(here.at('config.yaml'), config.replace('save_only_model: false', 'save_only_model: true'));
    const { child, ended } = here.start([], 40);
    await until(() => wholeIn(here).includes('checkpoint-8'));
    end(child, here, 'all');
    await ended;
    const whole = wholeIn(here);
    const { code, said } = await here.train();
    expect(code).toBe(1);
    expect(said).toMatch(/cannot go on: .* --again` sets them aside and begins at the first step/);
    expect((await here.status()).problem).toMatch(
      /train\.sh' --again sets them aside and begins at the first step$/,
    );
    expect(wholeIn(here)).toEqual(whole);
    expect((await here.train('--again')).code).toBe(0);
    expect(here.log()).toEqual(['begin', 'begin']);
    expect(wholeIn(here)).toEqual(expect.arrayContaining(whole));
    expect(readdirSync(here.at('checkpoints', 'set-aside-1'))).toEqual(expect.arrayContaining(whole));
  });

  it('leaves a finished run as it is, also when it is told to begin again', async () => {
    const here = await trainingRun();
    expect((await here.train()).code).toBe(0);
    for (const words of [[], ['--again'], ['0/3'], ['1/3']])
      expect((await here.train(...words)).code).toBe(0);
    expect(here.log()).toEqual(['begin']);
    expect(await here.train('--agian')).toMatchObject({ code: 2, said: expect.stringContaining('--again') });
    // After its last checkpoint was lost, a run restarts only if told to.
    renameSync(here.at('checkpoints', 'checkpoint-20'), here.at('lost'));
    expect((await here.status()).problem).toContain('--again');
    expect((await here.train('--again')).code).toBe(0);
    expect(here.log()).toEqual(['begin', 'begin']);
    expect(readdirSync(here.at('checkpoints', 'set-aside-1'))).toContain('checkpoint-16');
  });

  it('looks for its programs before it does anything', async () => {
    const here = await trainingRun();
    const before = readdirSync(here.out);
    chmodSync(join(here.bin, 'trl'), 0o644);
    const { code, said } = await here.train();
    expect(code).toBe(127);
    expect(said).toContain('not found: trl. Activate the environment of the trainer (pip install "trl[peft]');
    expect(readdirSync(here.out)).toEqual(before);
    const alone = await here.start([], 5, '/usr/bin:/bin').ended;
    expect(alone.code).toBe(127);
    expect(readdirSync(here.out)).toEqual(before);
  });

  it('is one of two that train, and names the other', async () => {
    const here = await trainingRun();
    const [first, second] = [here.start([], 30), here.start([], 30)];
    await until(() => existsSync(here.at('trainer.log')));
    expect(await here.status()).toMatchObject({
      state: 'running',
      problem: expect.stringMatching(new RegExp(`process \\d+ on ${hostname()} trains it since \\d{4}-`)),
    });
    const codes = [await first.ended, await second.ended];
    expect(codes.map(({ code }) => code).sort()).toEqual([0, 75]);
    expect(codes.find(({ code }) => code === 75)?.said).toMatch(/running: process \d+ on .*, since \d{4}-/);
    expect(here.log()).toEqual(['begin']);
  });

  it('that was killed leaves a trainer that works: no other begins beside it', async () => {
    const here = await trainingRun();
    const { child, ended } = here.start([], 250);
    await until(() => wholeIn(here).length > 0);
    end(child, here, 'SIGKILL');
    await ended;
    const second = await here.train();
    expect(second).toMatchObject({ code: 75, said: expect.stringContaining('(its train.sh was killed)') });
    expect(await here.status()).toMatchObject({
      state: 'running',
      problem: expect.stringContaining('process group'),
    });
    await until(() => wholeIn(here).includes('checkpoint-20'));
    let third = await here.train();
    await until(async () => {
      if (third.code === 75) third = await here.train();
      return third.code !== 75;
    });
    // Training is complete: only the report remains.
    expect(third.code).toBe(0);
    expect(here.log()).toEqual(['begin']);
  });

  it('waits for a sign of life from a start on another host', async () => {
    const here = await trainingRun();
    const claim = {
      token: 'x',
      host: 'elsewhere',
      place: 'elsewhere 1',
      pid: 1,
      started: '1',
      since: '2026-01-01T00:00:00Z',
    };
    writeFileSync(here.at('.train-lock'), `${JSON.stringify(claim)}\n`);
    expect(await here.status()).toMatchObject({
      state: 'running',
      problem: expect.stringContaining('process 1 on elsewhere'),
    });
    const living = setInterval(() => appendFileSync(here.at('.train-lock'), '\n'), 500);
    const refused = await here.train();
    clearInterval(living);
    expect(refused).toMatchObject({
      code: 75,
      said: expect.stringContaining('process 1 on elsewhere, since 2026-01-01'),
    });
    // Now it is silent.
    expect((await here.train()).code).toBe(0);
    expect(existsSync(here.at('.train-lock'))).toBe(false);
  });

  it('goes on with one configuration and one set of rows', async () => {
    const here = await trainingRun();
    const { child, ended } = here.start([], 40);
    await until(() => wholeIn(here).includes('checkpoint-4'));
    end(child, here, 'all');
    await ended;
    const config = readFileSync(here.at('config.yaml'), 'utf8');
    writeFileSync(here.at('config.yaml'), config.replace(/^learning_rate: .*/m, 'learning_rate: 1.0'));
    expect(await here.train()).toMatchObject({
      code: 1,
      said: expect.stringMatching(/config\.yaml is not what the checkpoints were trained with: put it back/),
    });
    writeFileSync(here.at('config.yaml'), config);
    writeFileSync(here.at('data', 'train.jsonl'), 'other rows\n');
    expect((await here.train()).said).toContain('data/train.jsonl is not what');
    rmSync(here.at('data', 'train.jsonl'));
    expect((await here.train()).code).toBe(0);
    expect(here.log()).toEqual(['begin', 'checkpoints/checkpoint-4']);
  });

  it('says that a disk is full, and changes nothing', async () => {
    const here = await trainingRun();
    symlinkSync('/dev/full', here.at('starts.log'));
    expect(await here.train()).toMatchObject({
      code: 1,
      said: expect.stringContaining('cannot write here (is the disk full?)'),
    });
    expect(existsSync(here.at('trainer.log'))).toBe(false);
    expect(existsSync(here.at('.train-lock'))).toBe(false);
  });

  it('says with what its trainer ended', async () => {
    const here = await trainingRun();
    writeFileSync(join(here.bin, 'trl'), '#!/bin/bash\nexit 7\n', { mode: 0o755 });
    expect(await here.train()).toMatchObject({
      code: 7,
      said: expect.stringContaining('ended with 7: trl sft'),
    });
    expect(await here.status()).toMatchObject({
      state: 'unfinished',
      problem: expect.stringMatching(/ended with 7: .*goes on from the first step$/),
    });
  });

  it('keeps the models of all checkpoints, and the state of the last two that a start has made', async () => {
    const here = await trainingRun();
    const { child, ended } = here.start([], 120);
    await until(() => wholeIn(here).includes('checkpoint-12'));
    await until(() => !existsSync(here.at('checkpoints', 'checkpoint-4', 'optimizer.pt')));
    end(child, here, 'all');
    await ended;
    const hasState = (step: number) =>
      existsSync(here.at('checkpoints', `checkpoint-${step}`, 'optimizer.pt'));
    expect([4, 8, 12].map(hasState)).toEqual([false, true, true]);
    expect((await here.start([], 120).ended).code).toBe(0);
    expect([4, 8, 12, 16, 20].map(hasState)).toEqual([false, true, true, true, true]);
    expect(wholeIn(here)).toHaveLength(5);
  });

  it.each([
    ['axolotl', 'checkpoints/checkpoint-4'],
    ['llama-factory', 'checkpoints/checkpoint-4'],
  ] as const)('goes on by the words of %s', async (name, from) => {
    const here = await trainingRun({ trainer: name });
    const { child, ended } = here.start([], 40);
    await until(() => wholeIn(here).includes('checkpoint-4'));
    end(child, here, 'all');
    await ended;
    expect((await here.train()).code).toBe(0);
    expect(here.log()).toEqual(['begin', from]);
  });
});

describe('train.sh of a sweep', () => {
  it('ends with a signal, and begins no further run', async () => {
    const here = await trainingRun({
      set: { steps: [8], checkpoint_every: [32], batch_size: [8], seed: [1, 2] },
    });
    const { child, ended } = here.start([], 60);
    await until(() => existsSync(here.at('task-s1', 'checkpoints')));
    end(child, here, 'SIGTERM');
    expect((await ended).code).toBe(143);
    expect(existsSync(here.at('task-s2', 'starts.log'))).toBe(false);
    expect((await trainingStatus([here.out])).runs.map(({ state }) => state)).toEqual([
      'unfinished',
      'absent',
    ]);
    expect((await here.train()).code).toBe(0);
    expect(readFileSync(here.at('task-s1', 'trainer.log'), 'utf8')).toMatch(/^begin\n/);
    expect((await trainingStatus([here.out])).runs.map(({ state }) => state)).toEqual([
      'finished',
      'finished',
    ]);
  });

  it('shares the runs with another start', async () => {
    const here = await trainingRun({
      set: { steps: [8], checkpoint_every: [32], batch_size: [8], seed: [1, 2, 3] },
    });
    const [first, second] = [here.start([], 20), here.start([], 20)];
    const codes = [(await first.ended).code, (await second.ended).code];
    for (const name of ['task-s1', 'task-s2', 'task-s3']) {
      expect(readFileSync(here.at(name, 'trainer.log'), 'utf8')).toBe('begin\n');
      expect(existsSync(here.at(name, 'trained'))).toBe(true);
    }
    expect(codes.every((code) => code === 0 || code === 75)).toBe(true);
  });
});
