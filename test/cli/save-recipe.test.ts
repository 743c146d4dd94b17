import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type MergePlan, planMerge } from '../../src/index.js';
import { cli } from '../fixtures/cli.js';
import { writeFamily } from '../fixtures/family.js';

describe('--save-recipe', () => {
  it('writes a recipe that makes the same again, of each command, also in a dry run', async () => {
    const { root, base, a, b } = writeFamily({ layers: 4 });
    writeFileSync(
      join(root, 'mergekit.yaml'),
      `merge_method: ties\nbase_model: ${base}\nmodels: [{model: ${a}, parameters: {weight: 1}}]\nparameters: {density: 0.5}\n`,
    );
    const magnitude = ['--base', base, '--weights', 'magnitude'];
    const commands: readonly (readonly string[])[] = [
      ['swap', '--task', a, '--lang', b, '--bottom', '8', '--top', '4', '--scaled', ...magnitude],
      ['soup', `mine=${a}`, b, ...magnitude, '--layout', 'size', '--dtype', 'float16'],
      ['revert', a, '--base', base, '--target-kept', '0.4'],
      ['relayout', a, '--max-shard-size', '5KB'],
      ['merge', join(root, 'mergekit.yaml'), '--dtype', 'float32'],
    ];
    const runs = commands.map(async (command, index) => {
      const file = join(root, 'b', `saved-${index}.yaml`);
      const { stdout } = await cli([...command, '--save-recipe', file, '--dry-run', '--json']);
      // Leaves out the card, which describes findings from the models.
      const decided = ({ shards, files }: MergePlan) => ({
        shards,
        files: files.filter(({ name }) => name !== 'README.md'),
      });
      // As JSON, since the kinds of operands exist only in memory.
      const planned: MergePlan = JSON.parse(JSON.stringify(await planMerge(file)));
      expect(decided(planned), command[0]).toEqual(decided(JSON.parse(stdout)));
      return readFileSync(file, 'utf8');
    });
    const [swap, soup] = await Promise.all(runs);
    expect(swap).toMatch(/^method: layer_swap\ntask: \.\.\/a\nlanguage: \.\/\nbase: \.\.\/base\nbottom: 1\n/);
    expect(soup).toContain('models:\n  - mine=../a\n  - ./\n');
    expect(soup).toMatch(/weights: \[\d\.\d{10,}, \d\.\d{10,}\]\ndtype: float16\nlayout: size\n$/);
  });

  it('replaces no file without --force', async () => {
    const { root, a, b } = writeFamily({ layers: 2 });
    const file = join(root, 'mine.yaml');
    writeFileSync(file, 'mine');
    const args = ['soup', a, b, '--dry-run', '-q', '--save-recipe', file];
    const refused = await cli(args);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      `error: ${file}: exists; name another file for --save-recipe, or --force to replace it\n`,
    ]);
    expect(readFileSync(file, 'utf8')).toBe('mine');
    expect((await cli([...args, '--force'])).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toContain('method: soup\nmodels:\n  - ./a\n  - ./b\n');
  });
});
