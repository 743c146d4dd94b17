import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Comparison } from '../../src/index.js';
import { llama, writeCheckpoint, writePair } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';

describe('layerloom diff', () => {
  it('prints the verdict first, and ends with 0 whatever it finds', async () => {
    const { root, task, language } = writePair();
    const { code, stdout, stderr } = await cli(['diff', task, language]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n')[0]).toBe('66 of 66 tensors differ, in all layers and outside them');
    const copy = writeCheckpoint(join(root, 'copy'), llama({ seed: 11 }));
    const same = await cli(['diff', task, copy]);
    expect(same.stdout.split('\n')[0]).toMatch(/^equal to the bit: 66 tensors, .* parameters$/);
  });

  it('ends with 1 under --exit-code if weights or side files differ, and with 0 if nothing does', async () => {
    const { root, task, language } = writePair();
    const copy = writeCheckpoint(join(root, 'copy'), llama({ seed: 11 }));
    const other = writeCheckpoint(join(root, 'other'), {
      ...llama({ seed: 11 }),
      config: { model_type: 'llama' },
    });
    const codes = await Promise.all(
      [language, copy, other].map(async (model) => await cli(['diff', task, model, '--exit-code', '-q'])),
    );
    expect(codes.map(({ code, stdout, stderr }) => [code, stdout, stderr])).toEqual([
      [1, '', ''],
      [0, '', ''],
      [1, '', ''],
    ]);
  });

  it('prints the whole comparison as JSON, and writes a file', async () => {
    const { root, task, language } = writePair();
    const out = join(root, 'x.csv');
    const { stdout } = await cli(['diff', task, language, '--only', '*norm*', '--json', '-o', out]);
    const { tensors } = JSON.parse(stdout) as Comparison;
    expect(tensors).toHaveLength(25);
    expect(tensors.every(({ name }) => name.includes('norm'))).toBe(true);
    expect(readFileSync(out, 'utf8').split('\n')).toHaveLength(26);
  });

  it('says in one message what is wrong with a model', async () => {
    const { root, task } = writePair();
    const { code, stderr } = await cli(['diff', task, join(root, 'nothing')]);
    expect({ code, lines: stderr.trim().split('\n').length }).toEqual({ code: 3, lines: 1 });
    expect(stderr).toContain(join(root, 'nothing'));
  });
});
