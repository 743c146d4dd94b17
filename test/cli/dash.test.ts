import { existsSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { cli } from '../fixtures/cli.js';

vi.setConfig({ testTimeout: 120_000 });

describe('-o -', () => {
  it('prints where a command prints without --out', async () => {
    const args = ['experiment', 'init', '--preset', 'ablation'];
    const [plain, dashed] = [await cli(args), await cli([...args, '-o', '-'])];
    expect([dashed.code, dashed.stdout]).toEqual([0, plain.stdout]);
    expect(existsSync('-')).toBe(false);
  });

  it('is refused where a command writes a directory', async () => {
    const { code, stderr } = await cli(['soup', './a', './b', '-o', '-']);
    expect([code, stderr]).toEqual([
      2,
      'error: -o, --out <dir>: `-` stands for stdout, but `layerloom soup` cannot write there; name a path (./- for a file named -)\n',
    ]);
  });
});

describe('help of a command that there is not', () => {
  it.each([
    [['help', 'swapp'], 'unknown command swapp; did you mean swap? Or see `layerloom --help`'],
    [
      ['help', 'experiment', 'innit'],
      'unknown command experiment innit; did you mean init? Or see `layerloom experiment --help`',
    ],
    [['help', 'xyzzy'], 'unknown command xyzzy; see `layerloom --help`'],
  ])('is an error: %j', async (args, message) => {
    expect(await cli(args)).toMatchObject({ code: 2, stdout: '', stderr: `error: ${message}\n` });
  });
});
