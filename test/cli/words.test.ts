import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { merge, runExperiment, soup } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';

// Words of a command line that are no command, and paths meant for shell expansion.

const shape = { layers: 1, hidden: 16 };

const isStack = (text: string): boolean => /^ {4}at |\bnode:internal\b|\.cjs:\d/m.test(text);

describe('options that a command does not have', () => {
  it.each([
    ['swap --langage x', '--lang'],
    ['swap --language-model=x', '--lang'],
    ['swap --quantization int8', '--quantise'],
    ['swap --quant int8', '--quantise'],
    ['swap --overwrite', '--force'],
    ['batch x.yaml --parts 1/2', '--part'],
    ['experiment slurm x.yaml --part 8', '--parts'],
    ['soup a b --output x', '--out'],
    ['soup a b --output-dir=x', '--out'],
    ['soup a b --base-model x', '--base'],
    ['merge r.yaml --checksum', '--checksums'],
    ['swap --tsk x', '--task'],
  ])('layerloom %s names %s', async (line, meant) => {
    const { code, stderr } = await cli(line.split(' '));
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining(`did you mean ${meant}? Or see`) as string,
    });
  });

  it.each([
    'soup a b --zebra',
    'inspect x --output y',
    'merge r.yaml --constructor x',
    'soup a b --language x',
    'inspect x --shard-range 1/2',
  ])('layerloom %s names none', async (line) => {
    const { code, stderr } = await cli(line.split(' '));
    expect(code).toBe(2);
    expect(stderr).not.toContain('did you mean');
  });

  it("`merge FILE DIR`, as other programs have it, is told the output's option", async () => {
    const { code, stderr } = await cli(['merge', 'r.yaml', 'out']);
    expect(code).toBe(2);
    expect(stderr).toContain('did you mean -o out? Or see `layerloom merge --help`');
  });
});

describe('words without a command', () => {
  it.each([['-v'], ['-V'], ['--version']])('%s prints the version', async (...args) => {
    const { code, stdout, stderr } = await cli(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it.each(
    [
      ...[
        '--verbose',
        '-q',
        '--quiet',
        '--json',
        '-x',
        '-vq',
        '-vv',
        '-qv',
        '-v -v',
        '-v -q',
        '--',
        '-- -v',
        '-',
      ],
      ...[
        '--json --json',
        '-v --json',
        '--verbose --quiet',
        '--version=1',
        '--nonsense',
        '-v nonsense',
        'nonsense -v',
      ],
      ...[
        'swap -v',
        'swap -v -v',
        'swap -vx',
        'soup -v',
        'help nonsense -v',
        'merge -v -- x y',
        'swap --verbose=1 -v',
      ],
    ].map((line) => [line] as const),
  )('layerloom %s is said to be wrong, without a stack', async (line) => {
    const { code, stdout, stderr } = await cli(line.split(' '));
    expect(code).toBe(2);
    expect(stderr).toMatch(/error: |Usage: /);
    expect(isStack(stdout + stderr)).toBe(false);
  });

  it.each([[[]], [['']]])('%j is help or an error', async (args) => {
    const { code, stdout, stderr } = await cli(args);
    expect(code).toBe(2);
    expect(isStack(stdout + stderr)).toBe(false);
  });
});

describe('a ~ that the shell has left', () => {
  const models = () => {
    const root = temporaryDirectory();
    for (const [index, name] of ['a', 'b'].entries())
      writeCheckpoint(join(root, name), llama({ ...shape, seed: index + 1 }));
    return root;
  };

  it.each([
    ['swap', '--task', '~/a', '--lang', 'b', '-o', 'out'],
    ['swap', '--task', 'A=~/a', '--lang', 'b', '-o', 'out'],
    ['swap', '--task=~/a', '--lang', 'b', '-o', 'out'],
    ['soup', 'a', 'b', '--out=~/merged'],
    ['soup', 'a', 'b', '-o~/merged'],
    ['soup', 'a', 'b', '-o', '~'],
    ['soup', 'a', 'b', '-o', '~root/merged'],
    ['soup', 'a', 'b+~/adapter', '-o', 'out'],
    ['merge', '~/recipe.yaml', '-o', 'out'],
    ['merge', 'recipe.yaml', '-o', 'out', '--save-recipe=~/r.yaml'],
    ['batch', '~/study.yaml', '-o', 'out'],
    ['batch', 'study.yaml', '-o', 'out', '--store=~/store'],
    ['analyze', '--base=~/base', 'a', '-o', 'out'],
    ['inspect', '~/a'],
    ['verify', '~/a'],
    ['experiment', 'init', '--preset', 'default', '--task', 'm=~/a', '-o', 'x.yaml'],
    ['experiment', 'init', '--preset', 'default', '--lang', 'swahili:s=~/a', '-o', 'x.yaml'],
    ['report', 'a', '--out=~/page.html'],
    ['doctor', '~/x'],
  ])('is refused: %s %s %s %s %s %s', async (...args) => {
    const { code, stderr } = await cli(args.filter((word) => word !== undefined));
    expect(code).toBe(2);
    expect(stderr).toContain('`~` was not expanded by your shell; write ');
    expect(existsSync('~')).toBe(false);
  });

  it('is refused in recipes and experiments, with the place', async () => {
    const root = models();
    const [recipe, study] = [join(root, 'r.yaml'), join(root, 's.yaml')];
    writeFileSync(recipe, 'method: soup\nmodels:\n  - ./a\n  - ~/b\n');
    await expect(merge(recipe, { out: join(root, 'out') })).rejects.toMatchObject({
      code: 'RECIPE_INVALID',
      message: expect.stringContaining(
        `r.yaml:4:5: ~/b: \`~\` was not expanded; write ${homedir()}/b`,
      ) as string,
    });
    writeFileSync(
      study,
      'base: ./a\ntasks: {m: ./a}\nlanguages: {swahili: {s: "~/b"}}\nmerges: [{name: d, method: layer_swap}]\n',
    );
    await expect(runExperiment(study, { out: join(root, 'out') })).rejects.toMatchObject({
      code: 'RECIPE_INVALID',
      message: expect.stringContaining('`~` was not expanded') as string,
    });
    await expect(soup({ models: [join(root, 'a'), '~/b'] }, { out: join(root, 'out') })).rejects.toThrow(
      '`~` was not expanded',
    );
    expect(readdirSync(root).sort()).toEqual(['a', 'b', 'r.yaml', 's.yaml']);
  });

  it('may be the name of a folder, and stand elsewhere in a name', async () => {
    const root = models();
    mkdirSync(join(root, '~'));
    writeCheckpoint(join(root, '~', 'a'), llama(shape));
    const { code, stderr } = await cli(['soup', join(root, '~/a'), join(root, 'b'), '-o', join(root, 'b~1')]);
    expect({ code, stderr }).toMatchObject({ code: 0 });
  });
});
