import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { version } from '../../src/core/base/files/version.js';
import { stagingPath } from '../../src/core/engine/output/staging.js';
import { layerSwap, type MergePlan, planMerge } from '../../src/index.js';
import {
  fill,
  llama,
  temporaryDirectory,
  writeCheckpoint,
  writeLarge,
  writePair,
} from '../fixtures/checkpoints.js';
import { cli, finished, startCli } from '../fixtures/cli.js';
import { dense } from '../fixtures/dense.js';
import { writeDistributed } from '../fixtures/distributed-files.js';
import { fineTune } from '../fixtures/family.js';
import { readTensors } from '../fixtures/merged.js';

// Slow disks.
vi.setConfig({ testTimeout: 180_000 });

const swapArgs = (
  { root, task, language }: { root: string; task: string; language: string },
  ...more: string[]
) => [
  'swap',
  '--task',
  task,
  '--lang',
  language,
  '-o',
  join(root, 'out'),
  '--bottom',
  '2',
  '--top',
  '1',
  ...more,
];

describe('layerloom swap', () => {
  it('makes what the function makes', async () => {
    const pair = writePair();
    const { code, stdout, stderr } = await cli(
      swapArgs(
        pair,
        '--top-transition',
        '1',
        '--weights',
        '1,3',
        '--norms',
        'average',
        '--others',
        'language',
      ),
    );
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.replace(/\s+/g, ' ')).toContain('weights 1,3, others language, norms average');
    const { task, language, root } = pair;
    await layerSwap(
      {
        task,
        language,
        bottom: 2,
        top: 1,
        topTransition: 1,
        weights: [1, 3],
        norms: 'average',
        others: 'lang',
      },
      { out: join(root, 'function') },
    );
    expect(await readTensors(join(root, 'out'))).toEqual(await readTensors(join(root, 'function')));
  });

  it('draws where each layer comes from', async () => {
    const pair = writePair();
    const { stdout } = await cli(swapArgs(pair));
    expect(stdout).toMatch(/layer 7 {3}█+ {2}language\n {2}layer 6 {3}░+ {2}task/);
    expect(stdout).toMatch(/outside {3}▒+ {2}0\.5 task \+ 0\.5 language/);
  });

  it('prints its plan and writes nothing when run dry, for people and as the plan itself', async () => {
    const pair = writePair();
    const dry = await cli(swapArgs(pair, '--dry-run'));
    expect(dry.stdout).toMatch(/to write +[\d.]+ kB/);
    const { stdout } = await cli(swapArgs(pair, '--dry-run', '--json'));
    const { task, language } = pair;
    expect(JSON.parse(stdout) as MergePlan).toEqual(
      JSON.parse(
        JSON.stringify(await planMerge({ method: 'layer_swap', task, language, bottom: 2, top: 1 })),
      ),
    );
    expect(readdirSync(pair.root).sort()).toEqual(['language', 'task']);
  });

  it('plans over an output that is there, when run dry, and says that the merge needs --force', async () => {
    const pair = writePair();
    await cli(swapArgs(pair));
    const { code, stdout, stderr } = await cli(swapArgs(pair, '--dry-run'));
    expect([code, stdout]).toEqual([0, expect.stringContaining('to write')]);
    expect(stderr).toMatch(/^warning: .* exists: the merge will need --force/);
    expect((await cli(swapArgs(pair, '--dry-run', '--force'))).stderr).toBe('');
    expect((await cli(swapArgs(pair))).code).toBe(2);
  });

  it('prints what --scaled resolved to', async () => {
    const { root, task, language } = writePair();
    const { stdout } = await cli([
      'swap',
      '--task',
      task,
      '--lang',
      language,
      '-o',
      join(root, 'out'),
      '--scaled',
    ]);
    expect(stdout).toContain('bottom 1, top 1, bottom_transition 0');
  });

  it('prints one JSON object with --json, and nothing with -q', async () => {
    const pair = writePair();
    const { stdout } = await cli(swapArgs(pair, '--json', '--checksums', '-j', '3'));
    expect(JSON.parse(stdout)).toMatchObject({
      method: 'layer_swap',
      threads: 3,
      shards: expect.arrayContaining([
        expect.objectContaining({ sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }),
      ]),
    });
    rmSync(join(pair.root, 'out'), { recursive: true });
    expect(await cli(swapArgs(pair, '-q'))).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('converts with --dtype, and writes shards by size with --layout', async () => {
    const pair = writePair();
    await cli(swapArgs(pair, '--dtype', 'fp32', '--layout', 'size', '--max-shard-size', '20KB'));
    const { stdout } = await cli(['inspect', join(pair.root, 'out'), '--json']);
    const { dtypes, shards } = JSON.parse(stdout) as { dtypes: Record<string, unknown>; shards: unknown[] };
    expect([Object.keys(dtypes), shards.length]).toEqual([['F32'], 4]);
  });

  it('gives the same bits on every instruction set', async () => {
    const pair = writePair({ dtype: 'F16' });
    const results: unknown[] = [];
    for (const isa of ['scalar', '']) {
      await cli(swapArgs(pair, '--force', '--weights', '0.3,0.7', '-q'), { LAYERLOOM_ISA: isa });
      results.push(await readTensors(join(pair.root, 'out')));
    }
    expect(results[0]).toEqual(results[1]);
  });

  it.each<[string, string[]]>([
    ['a negative count', ['--bottom', '-1']],
    ['a fractional count', ['--top', '1.5']],
    ['a count that is no number', ['--bottom-transition', 'two']],
    ['more layers than there are', ['--bottom', '8']],
    ['weights that sum to 0', ['--weights', '1,-1']],
    ['weights that are no numbers', ['--weights', '1,x']],
    ['an empty weight', ['--weights', '1,']],
    ['one weight', ['--weights', '1']],
    ['an unknown dtype', ['--dtype', 'int4']],
    ['an unknown layout', ['--layout', 'depth']],
    ['a shard size that is none', ['--max-shard-size', '5 apples']],
    ['no threads', ['-j', '0']],
    ['an argument too many', ['another']],
  ])('ends with 2 and writes nothing for %s', async (_, args) => {
    const pair = writePair();
    const { code, stdout, stderr } = await cli(swapArgs(pair, ...args));
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^error: [^\n]+\n$/);
    expect(readdirSync(pair.root).sort()).toEqual(['language', 'task']);
  });

  it('names the nearest flag to one it does not know', async () => {
    const { code, stderr } = await cli(swapArgs(writePair(), '--botom', '3'));
    expect(code).toBe(2);
    expect(stderr).toBe(
      'error: unknown option --botom; did you mean --bottom? Or see `layerloom swap --help`\n',
    );
    expect((await cli(['revert', '--below', 'auto', 'x'])).stderr).toBe(
      'error: unknown option --below; revert needs --base <model>; see `layerloom revert --help`\n',
    );
    expect((await cli(['swap', '--taks', 'x', '--lang', 'y'])).stderr).toContain('did you mean --task?');
    expect((await cli(['swap', '--lang', 'y', '-o', 'z'])).stderr).toContain('--task');
  });

  it('asks for what it needs', async () => {
    expect((await cli(['swap', '--task', 'a', '--lang', 'b'])).stderr).toContain('--out');
    expect((await cli(['swap', '--lang', 'b', '-o', 'c'])).stderr).toContain('--task');
  });

  it.each<[string, (root: string, language: string) => void]>([
    ['missing', (_, language) => rmSync(language, { recursive: true })],
    ['corrupt', (_, language) => writeFileSync(join(language, 'model.safetensors'), 'not a header')],
    ['of another shape', (_, language) => writeCheckpoint(language, llama({ hidden: 32 }))],
    ['of other layers', (_, language) => writeCheckpoint(language, llama({ layers: 6 }))],
    ['untied', (_, language) => writeCheckpoint(language, llama({ tied: false }))],
    [
      'in Meta’s names',
      (_, language) => {
        rmSync(language, { recursive: true });
        writeCheckpoint(language, { tensors: fill({ 'layers.0.attention.wq.weight': [1] }, 'F32', 1) });
      },
    ],
  ])('ends with 3 and writes nothing for an expert that is %s', async (_, spoil) => {
    const pair = writePair();
    spoil(pair.root, pair.language);
    const { code, stderr } = await cli(swapArgs(pair));
    expect(code).toBe(3);
    expect(stderr).toMatch(/^error: [^\n]+\n$/);
    expect(stderr).toContain(pair.root);
    expect(existsSync(join(pair.root, 'out'))).toBe(false);
  });

  it('prints the error as an object too with --json, and a stack trace only with -v', async () => {
    const pair = writePair();
    const json = await cli(swapArgs(pair, '--bottom', '9', '--json'));
    expect(JSON.parse(json.stdout)).toEqual({
      error: {
        code: 'TOO_MANY_LAYERS',
        message: expect.stringContaining('8'),
        details: expect.objectContaining({ layers: 8, requested: 10 }),
      },
    });
    expect(json.stderr).not.toContain('    at ');
    expect((await cli(swapArgs(pair, '--bottom', '9', '-v'))).stderr).not.toContain('    at ');
    expect((await cli(['inspect', join(pair.root, 'nowhere'), '-v'])).stderr).toContain('    at ');
    const usage = await cli(swapArgs(pair, '--botom', '9', '--json'));
    expect(JSON.parse(usage.stdout)).toMatchObject({ error: { code: 'USAGE' } });
  });

  it('says where a recipe asks for more layers than there are, also where its counts are the defaults', async () => {
    const { root, task, language } = writePair();
    const file = join(root, 'swap.yaml');
    const swap = `method: layer_swap\ntask: ${task}\nlanguage: ${language}\n`;
    const nested = `bottom: 1\ntask:\n  method: layer_swap\n  task: ${task}\n  language: ${language}\n`;
    for (const [text, place] of [
      [`${swap}bottom: 9\n`, '4:9'],
      [`${swap}top: 4\n`, '1:1'],
      [`method: layer_swap\nlanguage: ${language}\n${nested}  bottom: 9\n`, '8:11'],
      [`method: layer_swap\nlanguage: ${language}\n${nested}  top: 4\n`, '5:3'],
    ] as const) {
      writeFileSync(file, text);
      const { code, stderr } = await cli(['merge', file, '-o', join(root, 'out')]);
      expect([code, stderr]).toEqual([2, expect.stringContaining(`error: ${file}:${place}: bottom `)]);
    }
  });
});

describe('an interrupt', () => {
  const start = (root: string, ...args: string[]) => {
    const models = ['a', 'b'].map((name, seed) => writeLarge(join(root, name), 24, 16, seed));
    return startCli(['soup', ...models, '-o', join(root, 'out'), '-j', '1', ...args]);
  };

  /** Sends a signal once shards are being written; fails if the run ends earlier. */
  const signalWhileWriting = async (
    root: string,
    child: ReturnType<typeof startCli>,
    signal: NodeJS.Signals,
  ) => {
    const result = finished(child);
    const checkpoint = join(stagingPath(join(root, 'out')), 'checkpoint');
    const begun = () =>
      readdir(checkpoint).then(
        ({ length }) => length >= 2,
        () => false,
      );
    while (!(await begun())) {
      if (child.exitCode !== null) throw new Error('the merge ended before it could be interrupted');
      await setTimeout(1);
    }
    child.kill(signal);
    return result;
  };

  it.each(['SIGINT', 'SIGTERM'] as const)('by %s ends with 130 and removes the staging', async (signal) => {
    const root = temporaryDirectory();
    const { code, stderr } = await signalWhileWriting(root, start(root), signal);
    expect(code).toBe(130);
    expect(stderr).toMatch(/error: interrupted; nothing was written at /);
    expect(readdirSync(root).sort()).toEqual(['a', 'b']);
  });

  // Only Linux lists the signals that a process catches.
  it.skipIf(process.platform !== 'linux')(
    'is not forgotten that comes while the merge is planned',
    async () => {
      const root = temporaryDirectory();
      const child = start(root);
      const result = finished(child);
      // Nothing else catches SIGHUP, the last of the three.
      const listens = () => {
        const caught = /^SigCgt:\s*(\w+)$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1];
        return (BigInt(`0x${caught}`) & 1n) !== 0n;
      };
      while (!listens()) await setTimeout(0);
      child.kill('SIGINT');
      expect((await result).code).toBe(130);
      expect(readdirSync(root).sort()).toEqual(['a', 'b']);
    },
  );

  it('with --resume keeps the staging, and the next run continues it', async () => {
    const root = temporaryDirectory();
    const { code } = await signalWhileWriting(root, start(root, '--resume'), 'SIGINT');
    expect(code).toBe(130);
    expect(existsSync(stagingPath(join(root, 'out')))).toBe(true);
    const { stdout } = await cli([
      'soup',
      join(root, 'a'),
      join(root, 'b'),
      '-o',
      join(root, 'out'),
      '--resume',
      '--json',
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ bytesResumed: expect.any(Number) });
    expect(readdirSync(root).sort()).toEqual(['a', 'b', 'out']);
  });

  it('that kills outright leaves no output, and the next run clears up and says so', async () => {
    const root = temporaryDirectory();
    await signalWhileWriting(root, start(root), 'SIGKILL');
    expect(existsSync(join(root, 'out'))).toBe(false);
    const { code, stderr } = await cli(['soup', join(root, 'a'), join(root, 'b'), '-o', join(root, 'out')]);
    expect(code).toBe(0);
    expect(stderr).toContain('warning: removed the leftovers of an interrupted merge');
    expect(readdirSync(root).sort()).toEqual(['a', 'b', 'out']);
  });
});

describe('layerloom soup', () => {
  it('takes names before paths, and refuses names that clash', async () => {
    const { root, task } = writePair();
    const named = await cli(['soup', `x=${task}`, `y=${task}`, '-o', join(root, 'out')]);
    expect(named.stdout).toContain('0.5 x + 0.5 y');
    expect(await cli(['soup', task, task, '-o', join(root, 'other')])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('NAME=PATH'),
    });
  });
});

describe('layerloom inspect', () => {
  it('shows what a checkpoint is', async () => {
    const { stdout } = await cli(['inspect', writePair({ tied: false }).task]);
    for (const words of [
      /architecture +llama/,
      /layers +8, named model\.layers\.N/,
      /head +not tied/,
      /BF16 +67 tensors/,
      /layers 0–7, each +8 tensors/,
      /embeddings +1 tensor /,
      /other files: config\.json/,
    ])
      expect(stdout).toMatch(words);
  });

  it('takes the configuration of a model without one from --config', async () => {
    const root = temporaryDirectory();
    const { tensors, config } = dense();
    const run = writeDistributed(join(root, 'run'), { tensors });
    expect((await cli(['inspect', run])).stdout).not.toMatch(/architecture +llama/);
    const base = writeCheckpoint(join(root, 'base'), { tensors, config });
    expect((await cli(['inspect', run, '--config', base])).stdout).toMatch(/architecture +llama/);
    const other = writeCheckpoint(join(root, 'other'), {
      tensors,
      config: { ...config, num_hidden_layers: 3 },
    });
    expect(await cli(['inspect', run, '--config', other])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('says 3 layers'),
    });
  });

  it('gives the same as JSON, with the bytes of each layer', async () => {
    const { stdout } = await cli(['inspect', '--json', writePair().task]);
    const summary = JSON.parse(stdout) as {
      bytes: number;
      layers: { layer: number; bytes: number }[];
      outside: Record<string, { bytes: number }>;
    };
    expect(summary).toMatchObject({
      architecture: { family: 'llama', layers: 8, known: true, tied: true },
      dtypes: { BF16: { tensors: 66 } },
    });
    const parts = [...summary.layers, ...Object.values(summary.outside)].reduce(
      (total, { bytes }) => total + bytes,
      0,
    );
    expect(parts).toBe(summary.bytes);
  });

  it('does not mind a reader that has seen enough', async () => {
    const child = startCli(['inspect', '--json', writePair().task]);
    child.stdout.destroy();
    expect((await finished(child)).stderr).toBe('');
  });
});

describe('layerloom', () => {
  it('prints help and version, and names the nearest command', async () => {
    expect(await cli(['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
    expect((await cli(['--help'])).stdout).toContain('layerloom swap --task');
    expect(await cli(['swpa'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('did you mean swap?'),
    });
    expect(await cli([])).toMatchObject({ code: 2, stderr: expect.stringContaining('Usage: layerloom') });
  });

  it('says which instruction set it uses, and lets LAYERLOOM_ISA choose', async () => {
    const { stdout } = await cli(['--version', '--json'], { LAYERLOOM_ISA: 'scalar' });
    expect(JSON.parse(stdout)).toMatchObject({
      version,
      instructionSet: 'scalar',
      instructionSets: expect.arrayContaining(['scalar']),
    });
    expect(await cli(['--version', '--json'], { LAYERLOOM_ISA: 'mmx' })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('LAYERLOOM_ISA=mmx'),
    });
  });

  it('leaves nothing where it cannot begin', async () => {
    const pair = writePair();
    expect((await cli(swapArgs(pair), { LAYERLOOM_ISA: 'mmx' })).code).toBe(2);
    expect(readdirSync(pair.root).sort()).toEqual(['language', 'task']);
  });

  it('does not mind that nobody reads what it says', async () => {
    const { root, task } = writePair();
    const child = startCli(['soup', join(task, 'model.safetensors'), '-o', join(root, 'out')]);
    child.stderr.destroy();
    expect((await finished(child)).code).toBe(0);
  });
});

describe('what speaks of a base', () => {
  const family = () => {
    const root = temporaryDirectory();
    const base = llama({ seed: 5 });
    const write = (name: string, tensors = base.tensors) =>
      writeCheckpoint(join(root, name), { ...base, tensors });
    const [task, language] = [fineTune(base.tensors, 1), fineTune(base.tensors, 2)];
    return { root, base: write('base'), task: write('task', task), language: write('language', language) };
  };

  it('analyze prints what the numbers say, and writes files', async () => {
    const { root, base, task, language } = family();
    const out = join(root, 'analysis');
    const { code, stdout, stderr } = await cli([
      'analyze',
      '--base',
      base,
      task,
      `swh=${language}`,
      '-o',
      out,
    ]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/mean MAV[\s\S]*task & swh[\s\S]*index\.html/);
    expect(readdirSync(out).sort()).toEqual([
      'index.html',
      'overlap.json',
      'swh.csv',
      'swh.json',
      'swh.mav.safetensors',
      'swh.svg',
      'task+swh.overlap.svg',
      'task.csv',
      'task.json',
      'task.mav.safetensors',
      'task.svg',
    ]);
    const from = ['--from', join(out, 'swh.mav.safetensors'), '--threshold', '1e-4', '--json'];
    const again = await cli(['analyze', ...from, '-o', join(root, 'again')]);
    expect(JSON.parse(again.stdout)).toMatchObject({ experts: [{ name: 'swh', threshold: 1e-4 }] });
  });

  it('analyze takes one threshold for all experts and others for single ones, in any order', async () => {
    const { root, base, task, language } = family();
    const args = ['analyze', '--base', base, task, `swh=${language}`, '-o', join(root, 'analysis')];
    const of = async (...thresholds: string[]) =>
      await cli([...args, '--json', ...thresholds.flatMap((text) => ['--threshold', text])]);
    for (const given of [
      ['1e-4', 'swh=1.9e-5'],
      ['swh=1.9e-5', '1e-4'],
      ['1', 'swh=2', '1e-4', 'swh=1.9e-5'],
    ]) {
      const { experts } = JSON.parse((await of(...given)).stdout);
      expect(experts).toMatchObject([
        { name: 'task', threshold: 1e-4 },
        { name: 'swh', threshold: 1.9e-5 },
      ]);
    }
    const { code, stdout } = await of('sw=1');
    expect([code, JSON.parse(stdout).error.message]).toEqual([
      2,
      '--threshold: expected the name of an expert: task, swh, got "sw"; did you mean swh?',
    ]);
    expect((await of('swh=auto')).stdout).toContain('a number, 0 or more, for swh');
  });

  it.each<[string, string[], number]>([
    ['a threshold below 0', ['--threshold', '-1'], 2],
    ['no expert', [], 2],
    ['rows of another kind', ['--rows', 'both'], 2],
  ])('analyze refuses %s', async (name, args, expected) => {
    const { root, base, task } = family();
    const experts = name === 'no expert' ? [] : [task];
    const run = ['analyze', '--base', base, ...experts, '-o', join(root, 'analysis'), ...args];
    expect((await cli(run)).code).toBe(expected);
    expect(existsSync(join(root, 'analysis'))).toBe(false);
  });

  it.each([
    [
      'of an expert with a name',
      (task: string, swh: string) => [task, `swh=${swh}`, '--task', 'task', 'swh'],
    ],
    ['of a path', (task: string, swh: string) => [task, `swh=${swh}`, '--lang', 'swh', 'task']],
    ['of saved vectors', () => ['--from', 'x/swh.mav.safetensors', '--task', 'task', 'swh']],
  ])(
    'analyze takes one name by --task and by --lang: a further one %s is not another expert',
    async (_, args) => {
      const { root, base, task, language } = family();
      const given = args(task, language);
      const from = given[0] === '--from' ? [] : ['--base', base];
      const { code, stderr } = await cli(['analyze', ...from, ...given, '-o', join(root, 'analysis')]);
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining(`${given.at(-1)} is an expert's name, and stands where an expert would`),
      ]);
    },
  );

  it('swap says which weights magnitude gave', async () => {
    const { base, ...pair } = family();
    const { code, stderr } = await cli(swapArgs(pair, '--base', base, '--weights', 'magnitude'));
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^magnitude weights: task 0\.\d{4}, language 0\.\d{4}\n$/),
    ]);
  });

  it('revert says how much it kept', async () => {
    const { root, base, task } = family();
    const args = (...more: string[]) => ['revert', '--base', base, task, '-o', join(root, 'out'), ...more];
    const byLocation = await cli(args('--bottom', '1', '--top', '1'));
    expect(byLocation).toMatchObject({ code: 0, stdout: expect.stringContaining('kept from the expert') });
    const byRows = await cli(args('--target-kept', '0.5', '--rows', 'output', '--force'));
    const [, threshold] =
      /^threshold (\S+) keeps a share of at least 0\.5 of the parameters\n$/.exec(byRows.stderr) ?? [];
    expect(threshold).toBe(String(Number(Number(threshold).toPrecision(4))));
    expect(byRows.stdout.split('\n').filter((line) => line.length > 100 && !line.includes('/'))).toEqual([]);
    expect(await cli(args('--threshold', '1', '--bottom', '1'))).toMatchObject({ code: 2 });
  });
});
