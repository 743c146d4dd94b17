import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory, writePair } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { someCommit, writeHeadersOnly } from '../fixtures/range-cache.js';

const cacheOf = () => {
  const { task, language } = writePair();
  const root = join(temporaryDirectory(), 'ranges');
  const folders = {
    a: writeHeadersOnly(root, 'org/a', task),
    b: writeHeadersOnly(root, 'org/b', language),
  };
  const env = { LAYERLOOM_CACHE: root, HF_HOME: join(root, 'hf') };
  const run = (...args: string[]) => cli(['cache', ...args], env);
  return { root, folders, run, bytes: statSync(join(folders.a, 'model.safetensors')).size };
};

describe('layerloom cache', () => {
  it('lists models with what is here of them', async () => {
    const { root, run, bytes } = cacheOf();
    const { models, directory } = JSON.parse((await run('ls', '--json')).stdout);
    expect(directory).toBe(root);
    expect(models.map(({ id, commit }: { id: string; commit: string }) => `${id}@${commit}`)).toEqual([
      `org/a@${someCommit}`,
      `org/b@${someCommit}`,
    ]);
    const [file] = models[0].files;
    expect(file).toMatchObject({ name: 'model.safetensors', bytes, kind: 'ranges' });
    expect(file.present).toBeLessThan(bytes / 2);
    const { stdout } = await run('ls');
    expect(stdout).toContain('2 models');
    expect(stdout).toMatch(/org\/a@0123456\s+\S+ k?B of \S+ kB\s+in 1 file\s+used 2/);
  });

  it('removes models by name, all, and those that were not used for long', async () => {
    const { folders, run } = cacheOf();
    expect((await run('gc', '--older-than', '1h')).stdout).toContain('removed 0 models');
    const dry = await run('gc', '--all', '--dry-run');
    expect(dry.stdout).toContain('would remove 2 models');
    expect(existsSync(folders.a)).toBe(true);
    expect((await run('gc', 'org/a')).stdout).toContain('removed 1 model');
    expect([existsSync(folders.a), existsSync(folders.b)]).toEqual([false, true]);
    await run('gc', '--all');
    expect(existsSync(folders.b)).toBe(false);
    expect((await run('ls')).stdout).toContain('0 models');
  });

  it('removes nothing unless told what', async () => {
    const { run } = cacheOf();
    const nothing = await run('gc');
    expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining('--older-than or --all')]);
    const time = await run('gc', '--older-than', 'long');
    expect([time.code, time.stderr]).toEqual([
      2,
      expect.stringContaining('--older-than: expected a time such as 30d'),
    ]);
  });
});
