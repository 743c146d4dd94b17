import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { soup } from '../../src/api/merge.js';
import { planMerge } from '../../src/api/plan-merge.js';
import { runPlan } from '../../src/core/engine/run-plan.js';
import { readRecipe } from '../../src/core/methods/recipe/read-recipe.js';
import { readers } from '../../src/core/models/checkpoint/containers/containers.js';
import { readSideFile, readSmallFile } from '../../src/core/models/checkpoint/files/small-file.js';
import { openModel as openCheckpoint } from '../../src/core/models/reading/read-model.js';
import { runBatch } from '../../src/study/batch/run-batch.js';
import { ShardStore } from '../../src/study/store/shard-store.js';
import { llama, temporaryDirectory, writeCheckpoint, writePair } from '../fixtures/checkpoints.js';
import { keyOf, newStore } from '../fixtures/store.js';

/** A hanging read fails here, long before the usual limit. */
const limit = 30_000;

const makePipe = (path: string): void => {
  rmSync(path, { force: true });
  execFileSync('mkfifo', [path]);
};

const tooLarge = 256 * 1024 * 1024 + 1;

const writeSparse = (path: string, bytes: number): void => {
  writeFileSync(path, '');
  truncateSync(path, bytes);
};

describe('a side file', () => {
  const withLink = (target: string, name = 'LICENSE') => {
    const directory = temporaryDirectory();
    const path = join(directory, name);
    symlinkSync(target, path);
    return path;
  };

  const withTarget = (...names: [string, ...string[]]): string => {
    const path = join(temporaryDirectory(), ...names);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, 'text');
    return path;
  };

  it.each<[string, () => string]>([
    ['a file', () => withTarget('LICENSE')],
    ['a link to a file of its name', () => withLink(withTarget('elsewhere', 'LICENSE'))],
    ...readers.map(({ name, extension }): [string, () => string] => [
      `a link to a config.json beside weights of ${name} (${extension})`,
      () => {
        const target = withTarget('base', 'config.json');
        writeFileSync(join(target, '..', `model${extension}`), '');
        return withLink(target, 'config.json');
      },
    ]),
    ['a link to a blob of a hub cache', () => withLink(withTarget('models--a--b', 'blobs', 'feed'))],
    ['a link to a file of a store', () => withLink(withTarget('shards', 'ab', `${keyOf('a')}.json`))],
    ['a link through another', () => withLink(withLink(withTarget('LICENSE'), 'other'))],
    [
      'a link to a file beside it',
      () => {
        const path = withTarget('LICENSE.md');
        symlinkSync('LICENSE.md', join(path, '..', 'LICENSE'));
        return join(path, '..', 'LICENSE');
      },
    ],
  ])('that is %s is read', async (_, prepare) => {
    expect((await readSideFile(prepare())).toString()).toBe('text');
  });

  it.each<[string, () => string, RegExp]>([
    ['a pipe', () => withPipe(), /it is a pipe; put a regular file in its place$/],
    ['a directory', () => join(withTarget('LICENSE'), '..'), /it is a directory, not a file/],
    [
      'a link to a device',
      () => withLink('/dev/zero'),
      /it is a link to \/dev\/zero, a file of another name/,
    ],
    ['a link to a device of its name', () => withLink('/dev/zero', 'zero'), /it is a device/],
    [
      'a link to a file of another name',
      () => withLink('/etc/passwd'),
      /it is a link to \/etc\/passwd, .*put a copy/,
    ],
    [
      'a link to a link to a file of another name',
      () => withLink(withLink('/etc/passwd')),
      /it is a link to \/etc\/passwd/,
    ],
    ['a link to itself', () => withLink('LICENSE'), /links lead in a circle/],
    ['a link to nothing', () => withLink('nowhere'), /no such file/],
    [
      'a link to another program’s file of its name',
      () => withLink(withTarget('.docker', 'config.json'), 'config.json'),
      /it is a link to .*config\.json, a file of another name or beside no model/,
    ],
    [
      'a link to code of its name',
      () => withLink(withTarget('site', 'settings.py'), 'settings.py'),
      /it is a link to .*settings\.py/,
    ],
    [
      'larger than 256 MiB',
      () => {
        const path = withTarget('LICENSE');
        writeSparse(path, tooLarge);
        return path;
      },
      /it has 268435457 bytes, and a file beside weights at most 268435456; remove it/,
    ],
  ])(
    'that is %s is refused by its name',
    async (_, prepare, message) => {
      const file = prepare();
      const error = await readSideFile(file).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toMatchObject({ code: 'READ_FAILED', exitCode: 3, details: { file } });
      expect((error as Error).message).toMatch(message);
    },
    limit,
  );

  it.runIf(process.platform === 'linux')(
    'whose target’s directory is replaced while it is opened is refused',
    async () => {
      const root = temporaryDirectory();
      for (const name of ['checkpoint', 'elsewhere']) {
        mkdirSync(join(root, name));
        writeFileSync(join(root, name, 'notes'), name);
      }
      symlinkSync('notes', join(root, 'checkpoint', 'LICENSE'));
      vi.doMock('node:fs/promises', async (original) => {
        const real = await original<typeof import('node:fs/promises')>();
        return {
          ...real,
          realpath: async (path: string) => {
            const found = await real.realpath(path);
            if (path !== join(root, 'checkpoint')) return found;
            renameSync(path, `${path}-former`);
            symlinkSync('elsewhere', path);
            return found;
          },
        };
      });
      onTestFinished(() => {
        vi.doUnmock('node:fs/promises');
        vi.resetModules();
      });
      vi.resetModules();
      const mocked = await import('../../src/core/models/checkpoint/files/small-file.js');
      await expect(mocked.readSideFile(join(root, 'checkpoint', 'LICENSE'))).rejects.toThrow(
        /its target .*notes was replaced while it was opened/,
      );
    },
  );

  const withPipe = (): string => {
    const path = join(temporaryDirectory(), 'LICENSE');
    makePipe(path);
    return path;
  };
});

describe('a small file', () => {
  it('is read to its end, whatever size it claims', async () => {
    expect((await readSmallFile('/proc/self/status')).toString()).toMatch(/^Name:/);
  });

  it('is not read further than its limit where it claims to be empty', async () => {
    await expect(readSmallFile('/proc/self/status', { most: 10, what: 'a status' })).rejects.toThrow(
      'it has more than 10 bytes, and a status at most 10',
    );
  });
});

describe('a checkpoint', () => {
  it.each(['config.json', 'model.safetensors.index.json'])(
    'whose %s is a pipe is refused',
    async (name) => {
      const directory = writeCheckpoint(join(temporaryDirectory(), 'a'), llama());
      makePipe(join(directory, name));
      await expect(openCheckpoint(directory)).rejects.toMatchObject({
        code: 'READ_FAILED',
        details: { file: join(directory, name) },
      });
    },
    limit,
  );

  it.each(['tokenizer.json', 'tokenizer_config.json', 'generation_config.json'])(
    'whose %s is a pipe is refused where it is compared',
    async (name) => {
      const { task, language } = writePair();
      makePipe(join(language, name));
      writeFileSync(join(task, name), '{}');
      await expect(planMerge({ method: 'soup', models: [task, language] })).rejects.toMatchObject({
        code: 'READ_FAILED',
        details: { file: join(language, name) },
      });
    },
    limit,
  );

  it.each<[string, (path: string) => void]>([
    ['LICENSE', (path) => symlinkSync('/etc/passwd', path)],
    ['NOTICE', (path) => symlinkSync('/dev/zero', path)],
    ['generation_utils.py', makePipe],
    ['merges.txt', (path) => writeSparse(path, tooLarge)],
    ['additional_chat_templates/rag.jinja', makePipe],
  ])(
    'whose %s cannot be copied is refused before weights are read',
    async (name, prepare) => {
      const { task, language } = writePair();
      mkdirSync(join(task, 'additional_chat_templates'));
      prepare(join(task, name));
      await expect(planMerge({ method: 'soup', models: [task, language] })).rejects.toMatchObject({
        code: 'READ_FAILED',
        details: { file: join(task, name) },
      });
    },
    limit,
  );

  it('whose side file became a link after the merge was planned is refused when it is copied', async () => {
    const { root, task, language } = writePair();
    writeFileSync(join(task, 'LICENSE'), 'free');
    const plan = await planMerge({ method: 'soup', models: [task, language] });
    rmSync(join(task, 'LICENSE'));
    symlinkSync('/etc/passwd', join(task, 'LICENSE'));
    await expect(runPlan(plan, { out: join(root, 'out') })).rejects.toMatchObject({
      code: 'READ_FAILED',
      details: { file: join(task, 'LICENSE') },
    });
  });

  it('of a batch whose side file cannot be copied is refused before weights are read', async () => {
    const { root, task, language } = writePair();
    symlinkSync('/etc/passwd', join(task, 'LICENSE'));
    const merges = [{ name: 'soup', recipe: { method: 'soup', models: [task, language] } as const }];
    await expect(runBatch(merges, { out: join(root, 'out') })).rejects.toMatchObject({
      code: 'READ_FAILED',
      message: expect.stringMatching(/^soup: .*LICENSE cannot be read: it is a link to/),
    });
  });

  it('keeps no README that is a link elsewhere', async () => {
    const { task } = writePair();
    symlinkSync('/etc/passwd', join(task, 'README.md'));
    await expect(planMerge({ method: 'relayout', model: task })).rejects.toMatchObject({
      code: 'READ_FAILED',
      details: { file: join(task, 'README.md') },
    });
  });
});

describe('a pipe', () => {
  it(
    'may give a recipe, which a user names',
    async () => {
      const file = join(temporaryDirectory(), 'merge.yaml');
      makePipe(file);
      spawn('sh', ['-c', 'printf "method: soup\\nmodels: [./a, ./b]" > "$0"', file]);
      const { recipe } = await readRecipe(file);
      expect(recipe).toMatchObject({ method: 'soup' });
    },
    limit,
  );

  it(
    'as the provenance of an output is none of ours',
    async () => {
      const { root, task, language } = writePair();
      const out = join(root, 'out');
      mkdirSync(out);
      makePipe(join(out, 'layerloom.json'));
      await expect(soup({ models: [task, language] }, { out, force: true })).rejects.toMatchObject({
        code: 'OUTPUT_NOT_OURS',
        details: { others: ['layerloom.json'] },
      });
    },
    limit,
  );

  it(
    'as the marker of a store is refused',
    async () => {
      const { store, paths } = await newStore();
      makePipe(paths.marker);
      await expect(ShardStore.open(store.directory)).rejects.toMatchObject({ code: 'STORE_INVALID' });
    },
    limit,
  );
});
