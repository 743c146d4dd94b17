import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { writePair } from '../fixtures/checkpoints.js';

/**
 * Records, in order, which files and directories the library syncs, renames and removes, by the last two
 * parts of their paths.
 */
const withNotes = async () => {
  const notes: string[] = [];
  const named = (path: unknown) => join(basename(dirname(String(path))), basename(String(path)));
  vi.doMock('node:fs/promises', async (original) => {
    const real = await original<typeof import('node:fs/promises')>();
    return {
      ...real,
      open: async (...args: Parameters<typeof real.open>): Promise<FileHandle> => {
        const file = await real.open(...args);
        const sync = file.sync.bind(file);
        file.sync = async () => {
          await sync();
          notes.push(`sync ${named(args[0])}`);
        };
        return file;
      },
      rename: async (from: string, to: string) => {
        await real.rename(from, to);
        notes.push(`rename ${named(from)}`);
      },
      rm: async (...args: Parameters<typeof real.rm>) => {
        const isThere = existsSync(String(args[0]));
        await real.rm(...args);
        if (isThere) notes.push(`rm ${named(args[0])}`);
      },
    };
  });
  onTestFinished(() => {
    vi.doUnmock('node:fs/promises');
    vi.resetModules();
  });
  vi.resetModules();
  const { soup } = await import('../../src/api/merge.js');
  return { notes, soup };
};

const staging = '.out.layerloom-partial';

describe('a merge', () => {
  it('is on the disk with its folders, in whose names it is renamed', async () => {
    const { root, task, language } = writePair();
    mkdirSync(join(task, 'additional_chat_templates'));
    writeFileSync(join(task, 'additional_chat_templates', 'rag.jinja'), 'template');
    const { notes, soup } = await withNotes();
    await soup({ models: [task, language] }, { out: join(root, 'new', 'out') });

    const folder = 'additional_chat_templates';
    const renamed = notes.indexOf(`rename ${staging}/checkpoint`);
    const before = notes.slice(0, renamed);
    const after = notes.slice(renamed);
    expect(before).toContain(`sync ${basename(dirname(root))}/${basename(root)}`);
    expect(before.indexOf(`sync checkpoint/${folder}`)).toBeGreaterThan(
      before.indexOf(`sync ${folder}/rag.jinja`),
    );
    expect(before.lastIndexOf(`sync ${staging}/checkpoint`)).toBeGreaterThan(
      before.indexOf(`sync checkpoint/${folder}`),
    );
    expect(after.slice(1, 3)).toEqual([`sync ${basename(root)}/new`, `sync new/${staging}`]);
  });

  it('has its plan and journal on the disk before a shard is begun', async () => {
    const { root, task, language } = writePair();
    const { notes, soup } = await withNotes();
    await soup({ models: [task, language] }, { out: join(root, 'out') });
    const at = `${basename(root)}/${staging}`;
    expect(notes.slice(0, 8)).toEqual([
      `sync ${at}`,
      `sync ${staging}/plan.json.new`,
      `rename ${staging}/plan.json.new`,
      `sync ${at}`,
      `sync ${staging}/journal.jsonl.new`,
      `rename ${staging}/journal.jsonl.new`,
      `sync ${at}`,
      expect.stringMatching(/^sync checkpoint\//),
    ]);
  });

  it('that replaces another gives up its plan on the disk before they are exchanged', async () => {
    const { root, task, language } = writePair();
    const { notes, soup } = await withNotes();
    const out = join(root, 'out');
    await soup({ models: [task, language] }, { out });
    notes.length = 0;
    await soup({ models: [task, language], weights: [1, 2] }, { out, force: true });
    const [removed, at] = [notes.indexOf(`rm ${staging}/plan.json`), `${basename(root)}/${staging}`];
    expect(notes[removed + 1]).toBe(`sync ${at}`);
    // The exchange is native; afterwards the rest of the staging directory is renamed.
    expect(notes.slice(removed + 2, removed + 5)).toEqual([
      `rename ${staging}/checkpoint`,
      `sync ${basename(dirname(root))}/${basename(root)}`,
      `sync ${at}`,
    ]);
  });
});
