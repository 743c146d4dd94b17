import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { foreignBelow, foreignDirectory, linkBelow } from '../src/core/base/files/own-directory.js';
import { holdRangeFolder } from '../src/core/models/sources/ranges/folder/hold.js';
import { RangeFile } from '../src/core/models/sources/ranges/range-file.js';
import { removeFromRangeCache } from '../src/core/models/sources/remove-ranges.js';
import { soup } from '../src/index.js';
import { clearStaging } from '../src/study/batch/assemble.js';
import { checkEvaluationFolders } from '../src/study/experiment/scoring/requests/evaluation-folders.js';
import { ShardStore } from '../src/study/store/shard-store.js';
import { temporaryDirectory } from './fixtures/checkpoints.js';
import { writeFamily } from './fixtures/family.js';
import { keyOf, newStore } from './fixtures/store.js';

const commit = 'c'.repeat(40);
const isRoot = process.getuid?.() === 0;

const victimWith = (...names: string[]): string => {
  const victim = temporaryDirectory();
  for (const name of names) {
    mkdirSync(join(victim, name, '..'), { recursive: true });
    writeFileSync(join(victim, name), 'thesis');
    utimesSync(join(victim, name), 0, 0);
  }
  return victim;
};

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();

describe('a directory in which files are removed', () => {
  it('is the user’s own, and no link', () => {
    const root = temporaryDirectory();
    mkdirSync(join(root, 'a/b'), { recursive: true });
    writeFileSync(join(root, 'file'), '');
    symlinkSync('a', join(root, 'link'));
    expect(foreignDirectory(join(root, 'a'))).toBeUndefined();
    expect(foreignDirectory(join(root, 'none'))).toBeUndefined();
    expect(foreignDirectory(join(root, 'link'))).toMatch(/link is a link/);
    expect(foreignDirectory(join(root, 'file'))).toMatch(/not a directory/);
    expect(foreignBelow(root, join(root, 'a/b'))).toBeUndefined();
    expect(foreignBelow(root, join(root, 'link/b'))).toMatch(/link is a link/);
    expect(foreignBelow(join(root, 'link'), join(root, 'link/b'))).toMatch(/link is a link/);
    expect([linkBelow(root, join(root, 'a/b')), linkBelow(join(root, 'link'), join(root, 'link/b'))]).toEqual(
      [undefined, undefined],
    );
    expect(linkBelow(root, join(root, 'link/b'))).toMatch(/link is a link/);
  });

  it.runIf(isRoot)('is not another user’s', () => {
    const root = temporaryDirectory();
    mkdirSync(join(root, 'a/b'), { recursive: true });
    chownSync(join(root, 'a'), 65534, 65534);
    expect(foreignDirectory(join(root, 'a'))).toMatch(/another user \(65534\)/);
    expect(foreignBelow(root, join(root, 'a/b'))).toMatch(/another user/);
    expect(linkBelow(root, join(root, 'a/b'))).toBeUndefined();
  });
});

describe('the cache of ranges', () => {
  const cacheWith = (make: (model: string) => void): string => {
    const cache = join(temporaryDirectory(), 'layerloom');
    mkdirSync(cache);
    make(join(cache, 'models--org--name'));
    return cache;
  };

  it('keeps models behind a link, and says so', async () => {
    const victim = victimWith(`${commit}/model.safetensors`, `${commit}.removing/file`);
    const cache = cacheWith((model) => symlinkSync(victim, model));
    const before = filesIn(victim);
    const { removed, foreign } = await removeFromRangeCache({
      unusedFor: 0,
      env: { LAYERLOOM_CACHE: cache },
    });
    expect([removed, foreign]).toEqual([[], [expect.stringMatching(/models--org--name is a link/)]]);
    expect(filesIn(victim)).toEqual(before);
  });

  it('is not cleared where it is a link itself', async () => {
    const victim = victimWith(`models--org--name/${commit}/model.safetensors`);
    const cache = join(temporaryDirectory(), 'layerloom');
    symlinkSync(victim, cache);
    await expect(
      removeFromRangeCache({ unusedFor: 0, env: { LAYERLOOM_CACHE: cache } }),
    ).rejects.toMatchObject({
      code: 'WRITE_FAILED',
    });
    expect(filesIn(victim)).toContain(`models--org--name/${commit}/model.safetensors`);
  });

  it('loses leftovers of its own names only', async () => {
    const cache = cacheWith((model) => mkdirSync(model));
    const model = join(cache, 'models--org--name');
    for (const name of [`${commit}.removing`, 'thesis.removing']) mkdirSync(join(model, name));
    await removeFromRangeCache({ env: { LAYERLOOM_CACHE: cache } });
    expect(readdirSync(model)).toEqual(['thesis.removing']);
  });

  it('takes no files for those of ended processes that are none, nor removes any behind a link', async () => {
    const ended = '01234567-89ab-4cde-8f01-23456789abcd';
    for (const isLink of [false, true]) {
      const victim = victimWith('thesis.tex', ended);
      const cache = cacheWith((model) => mkdirSync(join(model, commit, '.ranges'), { recursive: true }));
      const folder = join(cache, 'models--org--name', commit);
      if (isLink) symlinkSync(victim, join(folder, '.ranges/holders'));
      else renameSync(victim, join(folder, '.ranges/holders'));
      await holdRangeFolder(folder, cache);
      const names = readdirSync(join(folder, '.ranges/holders'));
      expect([names.includes('thesis.tex'), names.includes(ended)]).toEqual([true, isLink]);
    }
  });

  it('replaces no file behind a link', async () => {
    const victim = victimWith(`${commit}/model.safetensors`);
    const cache = cacheWith((model) => symlinkSync(victim, model));
    const file = { name: 'model.safetensors', bytes: 64, etag: 'e'.repeat(40) };
    await expect(
      RangeFile.open(join(cache, 'models--org--name', commit), file as never),
    ).rejects.toMatchObject({
      code: 'WRITE_FAILED',
    });
    expect(existsSync(join(victim, commit, 'model.safetensors'))).toBe(true);
  });
});

describe('beside an output', () => {
  it('a staging directory that is a link is refused, with what is in it left', async () => {
    const { root } = writeFamily({ layers: 2 });
    const victim = victimWith('checkpoint/weights', 'plan.json', 'journal.jsonl');
    symlinkSync(victim, join(root, '.out.layerloom-partial'));
    const models = [join(root, 'a'), join(root, 'b')];
    await expect(soup({ models }, { out: join(root, 'out') })).rejects.toThrow(/layerloom-partial is a link/);
    expect(filesIn(victim)).toEqual(['checkpoint', 'checkpoint/weights', 'journal.jsonl', 'plan.json']);
    rmSync(join(root, '.out.layerloom-partial'));
    await soup({ models }, { out: join(root, 'out') });
  });

  it('only directories of our own names are leftovers of removals', async () => {
    const { root } = writeFamily({ layers: 2 });
    const names = ['01234567', 'of-my-thesis'].map((end) => `.out.layerloom-removed-${end}`);
    for (const name of names) mkdirSync(join(root, name));
    await soup({ models: [join(root, 'a'), join(root, 'b')] }, { out: join(root, 'out') });
    expect(names.map((name) => existsSync(join(root, name)))).toEqual([false, true]);
  });

  it.runIf(isRoot)('leftovers of another user stay', async () => {
    const { root } = writeFamily({ layers: 2 });
    const former = join(root, '.out.layerloom-removed-01234567');
    const staging = join(root, '.merge.layerloom-batch-17');
    for (const path of [former, staging]) {
      mkdirSync(path);
      chownSync(path, 65534, 65534);
    }
    const { warnings } = await soup(
      { models: [join(root, 'a'), join(root, 'b')] },
      { out: join(root, 'out') },
    );
    expect(warnings).toEqual([expect.stringMatching(/another user/)]);
    await clearStaging(root, ['merge']);
    expect([existsSync(former), existsSync(staging)]).toEqual([true, true]);
  });
});

describe('a store', () => {
  it.each(['claims', 'partial', 'shards', 'experiments'])('whose %s is a link is refused', async (folder) => {
    const { store } = await newStore();
    const victim = victimWith(keyOf('a').slice(0, 38), `${keyOf('a')}.safetensors`);
    rmSync(join(store.directory, folder), { recursive: true });
    symlinkSync(victim, join(store.directory, folder));
    const before = filesIn(victim);
    await expect(ShardStore.open(store.directory, { create: true })).rejects.toMatchObject({
      code: 'STORE_INVALID',
    });
    expect(filesIn(victim)).toEqual(before);
  });

  it('removes no shards through a link', async () => {
    const { store, paths } = await newStore();
    const key = keyOf('a');
    const victim = victimWith(`${key}.safetensors`, `${key}.json`);
    symlinkSync(victim, paths.shardDirectory(key));
    await expect(store.gc()).rejects.toMatchObject({ code: 'STORE_INVALID' });
    expect(filesIn(victim)).toEqual([`${key}.json`, `${key}.safetensors`]);
  });
});

describe('an evaluation', () => {
  it.each(['.', '.runs', '.claims', 'failures'])(
    'refuses a link in the place of evaluations/%s',
    (folder) => {
      const root = temporaryDirectory();
      mkdirSync(join(root, 'evaluations'));
      if (folder === '.') rmSync(join(root, 'evaluations'), { recursive: true });
      symlinkSync(victimWith('file'), join(root, 'evaluations', folder));
      expect(() => checkEvaluationFolders(root)).toThrow(/is a link/);
    },
  );
});
