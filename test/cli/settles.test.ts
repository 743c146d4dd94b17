import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { cliProcess as cli } from '../fixtures/cli.js';
import { writeFamily } from '../fixtures/family.js';

const mergeWith = (code: string, ...options: string[]) => {
  const { root, a, b } = writeFamily();
  const [recipe, plugin] = [join(root, 'recipe.yaml'), join(root, 'plugin.mjs')];
  writeFileSync(recipe, `method: linear\nmodels: [{ model: ${a}, weight: 1 }, { model: ${b}, weight: 1 }]\n`);
  writeFileSync(plugin, code);
  const out = join(temporaryDirectory(), 'out');
  return cli(['merge', recipe, '-o', out, '--plugin', plugin, '--dry-run', ...options]);
};

describe('a command', () => {
  it('says that its work never settled, and fails', async () => {
    const { code, stdout, stderr } = await mergeWith('await new Promise(() => {});');
    expect(stderr).toBe('error: the command ended before its work was done\n');
    expect([code, stdout]).toEqual([1, '']);
    const json = await mergeWith('await new Promise(() => {});', '--json');
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({ error: { code: 'INTERNAL' } });
  });

  it('ends once its work is done, whatever is left running', async () => {
    const begin = Date.now();
    const { code, stderr } = await mergeWith('setInterval(() => {}, 1000);');
    expect(code).toBe(2);
    expect(stderr).toContain('no method was registered');
    expect(Date.now() - begin).toBeLessThan(20_000);
  });
});
