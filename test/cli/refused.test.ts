import {
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statfsSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeCommands } from '../../src/cli/framework/describe.js';
import { buildProgram } from '../../src/cli/program.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { llamaShapes } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { writeExperiment } from '../fixtures/experiment.js';
import { writeTrained } from '../fixtures/trained.js';

// A refused command leaves nothing: no record, store or empty directory.

interface Folder {
  readonly root: string;
  readonly at: (name: string) => string;
}

const evaluate = 'evaluate:\n  tasks: {swahili: mgsm_direct_sw}\n';

const prepare = (): Folder => {
  const { root, file } = writeExperiment('\n  - {name: default, method: layer_swap, bottom: 1, top: 1}\n', {
    layers: 3,
    hidden: 16,
  });
  const at = (name: string) => join(root, name);
  writeFileSync(file, `${readFileSync(file, 'utf8')}\n${evaluate}`);
  writeFileSync(at('ties.yaml'), 'method: ties\nbase: ./base\nmodels: [./math-1, ./swh-1]\ndensity: 0.5\n');
  writeAdapter(at('adapter'), lora({ shapes: llamaShapes({ layers: 3, hidden: 16 }) }));
  writeTrained(at('trained'), at('base'));
  writeFileSync(at('scores.csv'), 'name,score\nmath-1,0.5\nswh-1,0.4\n');
  return { root, at };
};

const commands = ({ at }: Folder): Readonly<Record<string, readonly string[]>> => {
  const [math, swahili, base] = [at('math-1'), at('swh-1'), at('base')];
  const layers = ['--bottom', '1', '--top', '1'];
  const out = at('new/deep/out');
  return {
    swap: ['--task', math, '--lang', swahili, ...layers, '-o', out],
    'swap --resume': ['--task', math, '--lang', swahili, ...layers, '-o', out, '--resume'],
    soup: [math, swahili, '-o', out, '--checksums'],
    revert: [math, '--base', base, ...layers, '-o', out],
    merge: [at('ties.yaml'), '-o', out],
    'merge --save-recipe': [at('ties.yaml'), '-o', out, '--save-recipe', at('new/recipe.yaml')],
    apply: [math, at('adapter'), '-o', out],
    relayout: [math, '-o', out],
    'extract-lora': ['--base', base, math, '--rank', '2', '-o', out],
    analyze: ['--base', base, math, swahili, '-o', out],
    batch: [at('experiment.yaml'), '-o', out],
    'batch --resume': [at('experiment.yaml'), '-o', out, '--resume'],
    'batch --store': [at('experiment.yaml'), '-o', out, '--store', at('new/store')],
    'batch --part': [at('experiment.yaml'), '-o', out, '--part', '1/2'],
    partition: [math, ...layers, '-o', at('new/deep/parts.json')],
    export: [
      math,
      '--to',
      'gguf',
      '--type',
      'q8_0',
      '--converter',
      'no-such-converter',
      '-o',
      at('new/x.gguf'),
    ],
    search: [
      ...[at('experiment.yaml'), '-o', out, '--pair', 'math-1+swh-1', '--budget', '100%', '--problems', '20'],
      ...['--hold-out', '4', '--default', 'default', '--lm-eval', 'no-such-harness'],
    ],
    transplant: [math, '--donor', swahili, '-k', '2', '-o', out],
  };
};

const filesIn = (root: string): string[] =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((name) => {
      const found = lstatSync(join(root, name));
      return found.isDirectory() ? `${name}/` : `${name} ${found.size} ${found.mtimeMs}`;
    })
    .sort();

const nameOf = (command: string): string => command.replace(/ --.*/, '');

const run = async (command: string, args: readonly string[]) => cli([nameOf(command), ...args]);

/** Commands that write whole weights; if space is short, they are refused before reading any. */
const large = ['swap', 'soup', 'revert', 'merge', 'apply', 'relayout', 'transplant', 'batch'];

const refusals: Readonly<Record<string, (folder: Folder, args: readonly string[]) => readonly string[]>> = {
  'a model that is not there': ({ at }, args) =>
    args.map((word) => (word === at('math-1') ? at('nowhere') : word)),
  'a model whose file is cut': ({ at }, args) => {
    truncateSync(join(at('math-1'), 'model.safetensors'), 300);
    return args;
  },
  'a model of other shapes': ({ at }, args) => {
    const { root } = writeExperiment('\n  - {name: d, method: soup}\n', { layers: 2, hidden: 32 });
    cpSync(join(root, 'math-1'), at('math-1'), { recursive: true, force: true });
    return args;
  },
  'a value that is none': (_, args) => [...args, '--threads', '0'],
  'a disk that is full': ({ at }, args) => {
    const { bavail, bsize } = statfsSync(at('.'));
    const factor = Math.ceil((bavail * bsize + 2 ** 34) / 2 ** 30);
    for (const name of ['base', 'math-1', 'math-2', 'swh-1', 'swh-2']) enlarge(at(name), factor);
    return args;
  },
  'a file in the place of a folder': ({ at }, args) => {
    writeFileSync(at('file'), '');
    return args.map((word) => word.replace('/new/', '/file/'));
  },
};

const enlarge = (model: string, gigabytes: number): void => {
  const file = join(model, 'model.safetensors');
  const bytes = readFileSync(file);
  const end = 8 + Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, end).toString()) as Record<
    string,
    { shape: number[]; dtype: string; data_offsets: number[] }
  >;
  let at = 0;
  for (const [tensor, entry] of Object.entries(header)) {
    if (tensor === '__metadata__') continue;
    const [from = 0, to = 0] = entry.data_offsets;
    entry.data_offsets = [at, at + to - from];
    at += to - from;
  }
  const extra = 2 ** 30 * gigabytes;
  header['model.layers.0.extra.weight'] = {
    dtype: 'BF16',
    shape: [extra / 2],
    data_offsets: [at, at + extra],
  };
  const text = Buffer.from(JSON.stringify(header));
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(BigInt(text.length));
  writeFileSync(file, Buffer.concat([prefix, text, bytes.subarray(end)]));
  truncateSync(file, 8 + text.length + at + extra);
};

describe.each(Object.entries(refusals))('for %s', (why, refuse) => {
  it('no command leaves anything', { timeout: 300_000 }, async () => {
    let refused = 0;
    for (const command of Object.keys(commands(prepare()))) {
      if (why === 'a disk that is full' && !large.includes(nameOf(command))) continue;
      const folder = prepare();
      const args = refuse(folder, commands(folder)[command] ?? []);
      const before = filesIn(folder.root);
      const { code, stderr } = await run(command, args);
      // 4: the possible merges of a batch are made.
      if (code === 0 || code === 4) continue;
      refused += 1;
      expect({ command, why, stderr, files: filesIn(folder.root) }).toEqual({
        command,
        why,
        stderr,
        files: before,
      });
    }
    expect(refused).toBeGreaterThan(6);
  });
});

describe('a batch that is refused', () => {
  it('leaves the record, the store and the registration of the one before', {
    timeout: 120_000,
  }, async () => {
    const folder = prepare();
    const { root, at } = folder;
    const args = ['batch', at('experiment.yaml'), '-o', at('out')];
    expect((await cli(args)).code).toBe(0);
    const textsOf = () =>
      readdirSync(root, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.json') && lstatSync(at(name)).isFile())
        .map((name) => [name, readFileSync(at(name), 'utf8')]);
    refusals['a disk that is full']?.(folder, []);
    const before = textsOf();
    const { code, stderr } = await cli([...args, '--resume']);
    expect(code, stderr).toBe(1);
    expect(stderr).toContain('free');
    expect(textsOf()).toEqual(before);
  });

  it('can be run again by the same command', { timeout: 120_000 }, async () => {
    const folder = prepare();
    const { at } = folder;
    const args = ['batch', at('experiment.yaml'), '-o', at('new/out')];
    const files = ['base', 'math-1', 'math-2', 'swh-1', 'swh-2'].map((name) =>
      join(at(name), 'model.safetensors'),
    );
    const whole = files.map((file) => readFileSync(file));
    refusals['a disk that is full']?.(folder, []);
    expect([(await cli(args)).code, existsSync(at('new'))]).toEqual([1, false]);
    for (const [index, file] of files.entries()) writeFileSync(file, whole[index] ?? '');
    const { code, stderr } = await cli(args);
    expect(code, stderr).toBe(0);
  });
});

const texts = ({ at }: Folder): Readonly<Record<string, readonly string[]>> => {
  const [none, out] = [at('nowhere'), at('new/deep/out')];
  return {
    'recipe choose': ['--task', none, '--lang', none, '--top', '1', '-o', out],
    'recipe export': [none, '-o', out],
    'train init': ['--preset', 'no-such-preset', '-o', out],
    'experiment init': ['--preset', 'no-such-preset', '-o', out],
    'experiment slurm': [none, '-o', out],
    'experiment snakemake': [none, '-o', out],
    'experiment kubernetes': [none, '--image', 'x', '--volume', 'x=/x', '-o', out],
    table: [none, '-o', out],
    evaluate: [none, '--tasks', 'mgsm_direct_sw', '-o', out],
    report: [none, '-o', out],
    draw: [none, '-o', out],
    rescore: [none, '--filter', 'strict-match', '-o', out],
    bundle: [none, '-o', out],
    rebuild: [none, '-o', out],
    select: ['--scores', none, '--count', '2', '-o', out],
    diff: [at('math-1'), none, '-o', out],
    suggest: ['--base', none, '--task', none, '--lang', none, '-o', out],
  };
};

it('no command that writes a text or a page leaves anything', { timeout: 120_000 }, async () => {
  const folder = prepare();
  const before = filesIn(folder.root);
  for (const [command, args] of Object.entries(texts(folder))) {
    const { code, stderr } = await cli([...command.split(' '), ...args]);
    expect([2, 3], `${command}: ${stderr}`).toContain(code);
    expect({ command, files: filesIn(folder.root) }).toEqual({ command, files: before });
  }
});

it('tries all commands that write where the reader says', () => {
  const folder = prepare();
  const tried = new Set([...Object.keys(commands(folder)).map(nameOf), ...Object.keys(texts(folder))]);
  const writing = describeCommands(buildProgram()).filter(({ optionGroups }) =>
    optionGroups.some(({ options }) => options.some(({ long }) => long === '--out')),
  );
  expect(writing.map(({ path }) => path.join(' ')).filter((name) => !tried.has(name))).toEqual([]);
});
