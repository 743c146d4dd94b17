import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { partition, type TrainingParameters, type TrainingRun, trainInit } from '../../src/index.js';
import { trainingPresets } from '../../src/study/paper/training.js';
import { type Trainer, trainingMethods } from '../../src/study/training/settings/choices.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

const pythons = {
  trl: process.env['LAYERLOOM_TRL_PYTHON'],
  axolotl: process.env['LAYERLOOM_AXOLOTL_PYTHON'],
  'llama-factory': process.env['LAYERLOOM_LLAMA_FACTORY_PYTHON'],
} as const satisfies Record<Trainer, string | undefined>;

const script = fileURLToPath(new URL('training.py', import.meta.url));
const ownPackage = fileURLToPath(new URL('../../python', import.meta.url));
const offline = {
  ...process.env,
  DISABLE_VERSION_CHECK: '1',
  HF_HUB_OFFLINE: '1',
  OMP_NUM_THREADS: '1',
  PYTHONPATH: ownPackage,
};

const can = (python: string | undefined, modules: string): boolean =>
  python !== undefined && spawnSync(python, ['-c', `import ${modules}`], { env: offline }).status === 0;

const ask = async (python: string, args: readonly string[]) => {
  const { stdout } = await promisify(execFile)(python, [script, ...args], {
    env: offline,
    maxBuffer: 2 ** 26,
  });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
};

const workplace = async (python: string) => {
  const root = temporaryDirectory();
  const at = (name: string) => join(root, name);
  await ask(python, ['base', at('base')]);
  const row = (i: number) => ({ prompt: `w${i % 60} w${(7 * i) % 60}`, completion: `w${(3 * i) % 60}` });
  const rows = Array.from({ length: 64 }, (_, i) => `${JSON.stringify(row(i))}\n`).join('');
  for (const name of ['math.jsonl', 'language.jsonl']) writeFileSync(at(name), rows);
  const { partition: parts } = await partition(
    at('base'),
    { bottom: 1, top: 1 },
    { out: at('partition.json') },
  );
  await partition(at('base'), { bottom: 2, top: 0 }, { out: at('halves.json') });
  let count = 0;
  const init = async (parameters: TrainingParameters) => {
    const out = at(`run-${count++}`);
    return await trainInit({ base: at('base'), devices: 1, ...parameters }, { out });
  };
  return { at, init, parts };
};

type Workplace = Awaited<ReturnType<typeof workplace>>;

const everyRun = async ({ at, init }: Workplace, trainer: Trainer) => {
  const runs: { out: string; run: TrainingRun }[] = [];
  for (const preset of trainingPresets)
    for (const method of trainingMethods) {
      const data = preset.startsWith('tel') ? [`instructions=${at('language.jsonl')}`] : [];
      const given = { preset, method, trainer, data };
      runs.push(await init(given));
      if (preset === 'joint') {
        if (trainer === 'trl' && existsSync(ownPackage))
          runs.push(await init({ ...given, way: 'simultaneous', partition: at('partition.json') }));
        continue;
      }
      // LLaMA-Factory freezes the first or the last layers only.
      const file = trainer === 'llama-factory' ? 'halves.json' : 'partition.json';
      runs.push(await init({ ...given, way: 'freeze', partition: at(file) }));
      runs.push(await init({ ...given, way: 'revert' }));
    }
  return runs;
};

describe.each(Object.entries(pythons))('every configuration for %s', (trainer, python) => {
  const modules = {
    trl: 'trl',
    axolotl: 'axolotl.utils.schemas.config',
    'llama-factory': 'llamafactory.hparams',
  };
  it.skipIf(!can(python, modules[trainer as Trainer]))(
    'is parsed by it to the numbers of its run',
    async () => {
      const place = await workplace(python ?? '');
      const runs = await everyRun(place, trainer as Trainer);
      const parsed = await ask(python ?? '', [trainer, ...runs.map(({ out }) => out)]);
      expect(Object.keys(parsed)).toHaveLength(runs.length);
      for (const { out, run } of runs)
        expect(parsed[out], `${run.name} ${run.way}`).toMatchObject({
          rate: run.learningRate,
          schedule: run.row.schedule === 'wsd' ? 'warmup_stable_decay' : 'linear',
          arguments: run.decaySteps === undefined ? null : { num_decay_steps: run.decaySteps },
          beta2: run.row.beta2,
          steps: run.steps,
          warmup: run.row.warmup,
        });
    },
  );
});

const { trl } = pythons;

/** Larger steps than the presets', whose changes would be invisible, and from the start. */
const visible = [
  ...['--max_steps', '2', '--learning_rate', '0.01', '--warmup_steps', '0', '--save_steps', '2'],
  ...['--logging_steps', '1', '--lora_dropout', '0'],
];

const train = async (place: Workplace, parameters: TrainingParameters) => {
  const { out, commands } = await place.init(parameters);
  const run = promisify(execFile);
  await run(trl ?? '', ['prepare_data.py'], { cwd: out, env: offline });
  const command = commands.map(([text]) => text).find((text) => text.endsWith('--config config.yaml')) ?? '';
  const [program = '', ...args] = command.split(' ');
  await run(join(dirname(trl ?? ''), program), [...args, ...visible, '--use_cpu'], {
    cwd: out,
    env: offline,
  });
  const moved = await ask(trl ?? '', ['moved', place.at('base'), join(out, 'checkpoints')]);
  return { out, ...(moved as { names: string[]; dtype: string }) };
};

describe.skipIf(!can(trl, 'trl, peft'))('two steps of TRL on the CPU', () => {
  it.each(['linear', 'wsd'])('follow the schedule %s', async (schedule) => {
    const { init } = await workplace(trl ?? '');
    const { out } = await init({ preset: schedule === 'wsd' ? 'swh-1' : 'math-1' });
    const [steps, expected] =
      schedule === 'wsd'
        ? [
            [500, 1000, 4500, 4750, 5000],
            [0.5, 1, 1, 0.5, 0],
          ]
        : [
            [500, 1000, 5500, 10_000],
            [0.5, 1, 0.5, 0],
          ];
    expect(await ask(trl ?? '', ['schedule', out, ...steps.map(String)])).toEqual(expected);
  });

  it('move every parameter of a full training, in float32', async () => {
    const place = await workplace(trl ?? '');
    const { names, dtype } = await train(place, { preset: 'math-1', data: [place.at('math.jsonl')] });
    expect(names).toEqual([...place.parts.parts.language, ...place.parts.parts.task].sort());
    expect(dtype).toBe('torch.float32');
  });

  it.each(['math-1', 'swh-1'])('of freezing move the part of %s and nothing else', async (preset) => {
    const place = await workplace(trl ?? '');
    const { parts, linear } = place.parts;
    const side = preset === 'math-1' ? 'task' : 'language';
    const given = {
      preset,
      way: 'freeze',
      data: [place.at('math.jsonl')],
      partition: place.at('partition.json'),
    } as const;
    expect((await train(place, given)).names).toEqual([...parts[side]].sort());
    const lora = await train(place, { ...given, method: 'lora' });
    expect(lora.names).toEqual(linear[side].map((name) => `${name}.weight`).sort());
    expect(lora.dtype).toBe('torch.float32');
  });

  it.skipIf(!existsSync(ownPackage)).each(trainingMethods)(
    'of simultaneous training (%s) move both parts',
    async (method) => {
      const place = await workplace(trl ?? '');
      const { names } = await train(place, {
        preset: 'joint',
        method,
        way: 'simultaneous',
        data: [`math=${place.at('math.jsonl')}`, `language=${place.at('language.jsonl')}`],
        partition: place.at('partition.json'),
      });
      const { parts, linear } = place.parts;
      const modules = [...linear.language, ...linear.task].map((name) => `${name}.weight`);
      expect(names).toEqual((method === 'lora' ? modules : [...parts.language, ...parts.task]).sort());
    },
  );

  it.skipIf(!existsSync(ownPackage)).each(trainingMethods)(
    'of simultaneous training (%s) on two devices have the losses of one, and move both parts',
    async (method) => {
      const place = await workplace(trl ?? '');
      const losses: number[][] = [];
      for (const devices of [1, 2]) {
        // In float32: bfloat16 rounds the parts of a batch differently from the whole.
        const given = {
          ...({ preset: 'joint', way: 'simultaneous', method, devices, cpu: true } as const),
          data: [`math=${place.at('math.jsonl')}`, `language=${place.at('language.jsonl')}`],
          partition: place.at('partition.json'),
        } as const;
        const { names, out } = await train(place, given);
        const { parts, linear } = place.parts;
        const modules = [...linear.language, ...linear.task].map((name) => `${name}.weight`);
        expect(names).toEqual((method === 'lora' ? modules : [...parts.language, ...parts.task]).sort());
        const log = readFileSync(join(out, 'checkpoints', 'checkpoint-2', 'trainer_state.json'), 'utf8');
        const { log_history: history } = JSON.parse(log) as { log_history: { loss?: number }[] };
        losses.push(history.flatMap(({ loss }) => (loss === undefined ? [] : [loss])));
      }
      const [one = [], two = []] = losses;
      expect(one).toHaveLength(2);
      for (const [step, loss] of one.entries())
        expect(Math.abs((two[step] ?? 0) / loss - 1)).toBeLessThan(1e-5);
    },
  );
});

describe.skipIf(!can(trl, 'pytest, transformers'))('the Python package (a Python with pytest)', () => {
  it('passes its own tests, those of two processes too', async () => {
    const { stdout } = await promisify(execFile)(
      trl ?? '',
      ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', ownPackage],
      { env: offline },
    );
    expect(stdout).toMatch(/\d+ passed/);
  });
});
