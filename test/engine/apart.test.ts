import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeAdapter } from '../fixtures/adapters.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { writeFamily } from '../fixtures/family.js';

// No command writes to its inputs, by whatever path.

const contentOf = (root: string): string[] =>
  readdirSync(root, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      if (entry.isSymbolicLink()) return `${path} -> ${readlinkSync(path)}`;
      if (entry.isDirectory()) return path;
      const { size, mtimeMs } = lstatSync(path);
      return `${path} ${size} ${mtimeMs}`;
    })
    .sort();

const prepare = () => {
  const { root, base, a, b } = writeFamily({ layers: 2 });
  const at = (name: string) => join(root, name);
  mkdirSync(at('elsewhere'));
  symlinkSync(a, at('link'));
  symlinkSync(join(a, '..'), at('elsewhere/up'));
  const experiment = {
    base,
    tasks: { math: a },
    languages: { swahili: { swh: b } },
    merges: [{ name: 'default', method: 'layer_swap', bottom: 1, top: 0 }],
  };
  writeFileSync(at('study.yaml'), JSON.stringify(experiment));
  return { root, base, a, b, at };
};

describe('a batch', () => {
  const places: Record<string, readonly string[]> = {
    'into an expert': ['a'],
    'below an expert': ['a/out'],
    'deep below an expert': ['a/out/of/it'],
    'into the base': ['base'],
    'into a link to an expert': ['link'],
    'below a link to an expert': ['link/out'],
    'by a way around': ['elsewhere/../a/out'],
    'by a link to a folder above': ['elsewhere/up/a/out'],
    'with its store in an expert': ['out', 'a'],
    'with its store below an expert': ['out', 'a/store'],
    'with its store below a link to an expert': ['out', 'link/store'],
    'into its store': ['store', 'store'],
    'below its store': ['store/out', 'store'],
    'with its store in the place of a merge': ['out', 'out/swahili/math+swh/default/store'],
  };

  it.each(Object.entries(places))(
    '%s is refused before anything is written',
    async (_, [out = '', store]) => {
      const { root, at } = prepare();
      const before = contentOf(root);
      const words = [
        'batch',
        at('study.yaml'),
        '-o',
        at(out),
        ...(store === undefined ? [] : ['--store', at(store)]),
      ];
      for (const more of [['--dry-run'], [], ['--force'], ['--resume'], ['--part', '1/2']]) {
        const { code, stderr } = await cli([...words, ...more]);
        expect([2, 3], stderr).toContain(code);
        expect(stderr).toMatch(/overlaps the input|store/);
        expect(contentOf(root)).toEqual(before);
      }
    },
  );

  it('below the store of another is refused', async () => {
    const { at } = prepare();
    expect((await cli(['batch', at('study.yaml'), '-o', at('one')])).code).toBe(0);
    for (const out of ['one/.store', 'one/.store/shards/two']) {
      const { code, stderr } = await cli(['batch', at('study.yaml'), '-o', at(out), '--store', at('other')]);
      expect([code, stderr]).toEqual([2, expect.stringContaining('a store; choose another output')]);
    }
    expect(existsSync(at('other'))).toBe(false);
  });

  it('into the folder of its experts is no mistake', async () => {
    const { root, at } = prepare();
    expect((await cli(['batch', at('study.yaml'), '-o', root])).code).toBe(0);
  });
});

describe('no command writes into a model that it reads', () => {
  it.each(['a', 'a/out', 'link/out', 'elsewhere/up/a/out', 'elsewhere/../a/out'])('%s', async (out) => {
    const { root, base, a, b, at } = prepare();
    writeAdapter(at('adapter'));
    const before = contentOf(root);
    const commands = [
      ['soup', a, b],
      ['swap', '--task', a, '--lang', b, '--bottom', '1', '--top', '0'],
      ['relayout', a],
      ['revert', a, '--base', base],
      ['transplant', a, '--donor', b],
      ['extract-lora', a, '--base', base, '--rank', '2'],
      ['analyze', a, '--base', base],
      ['export', a, '--to', 'gguf', '--type', 'bf16'],
      ['search', at('study.yaml'), '--budget', '10'],
      ['train', 'init', '--preset', 'own-task', '--base', a, '--data', at('rows.jsonl')],
    ];
    writeFileSync(at('rows.jsonl'), '{"prompt": "1 + 1?", "completion": "2"}\n'.repeat(3));
    const withRows = contentOf(root);
    for (const command of commands) {
      const { code, stderr } = await cli([...command, '-o', at(out)]);
      expect([1, 2, 3], `${command.join(' ')}: ${stderr}`).toContain(code);
      expect(contentOf(root), command.join(' ')).toEqual(withRows);
    }
    expect(withRows.length).toBe(before.length + 1);
  });

  it('is known in a temporary directory too', async () => {
    const { a, b } = prepare();
    expect((await cli(['soup', a, b, '-o', join(temporaryDirectory(), 'out')])).code).toBe(0);
  });
});
