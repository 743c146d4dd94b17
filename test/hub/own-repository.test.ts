import { mkdirSync, realpathSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openModel as openCheckpoint } from '../../src/core/models/reading/read-model.js';
import { llama, safetensors, temporaryDirectory } from '../fixtures/checkpoints.js';
import { someCommit, writeHeadersOnly } from '../fixtures/range-cache.js';

const small = () => llama({ layers: 2 });

const other = 'f'.repeat(40);

let cache: string;
let ranges: string;

const repository = (name: string) => join(cache, `models--org--${name}`);
const snapshot = (name: string, commit = someCommit) => join(repository(name), 'snapshots', commit);

const writeModel = (name: string, commit = someCommit): void => {
  for (const folder of ['blobs', 'refs']) mkdirSync(join(repository(name), folder), { recursive: true });
  mkdirSync(snapshot(name, commit), { recursive: true });
  writeFileSync(join(repository(name), 'refs', 'main'), commit);
  writeFileSync(join(repository(name), 'blobs', 'feed'), safetensors(small().tensors));
  symlinkSync('../../blobs/feed', join(snapshot(name, commit), 'model.safetensors'));
};

beforeEach(() => {
  [cache, ranges] = [temporaryDirectory(), temporaryDirectory()];
  vi.stubEnv('HF_HUB_CACHE', cache);
  vi.stubEnv('LAYERLOOM_CACHE', ranges);
  for (const name of ['a', 'b']) writeModel(name);
});
afterEach(() => vi.unstubAllEnvs());

const refusal = async (model: string): Promise<string> => {
  const error = await openCheckpoint(model).then(
    () => expect.unreachable(`${model} was opened`),
    (each: unknown) => each,
  );
  expect(error).toMatchObject({ code: 'READ_FAILED' });
  return (error as Error).message;
};

describe('a ref of a cache', () => {
  const ref = () => join(repository('a'), 'refs', 'main');

  it.each([
    ['a path to another repository', `../../models--org--b/snapshots/${someCommit}`],
    ['a path to any folder', '../../../../elsewhere'],
    ['a secret', 'hf_secret'],
    ['two commits', `${someCommit}\n${other}\n`],
    ['a commit in capitals', other.toUpperCase()],
    ['a commit and more', `${someCommit} hf_secret`],
    ['nothing', ''],
    ['a large text', 'hf_secret'.repeat(10_000)],
  ])('is refused where it holds %s, without repeating it', async (_what, content) => {
    writeFileSync(ref(), content);
    const message = await refusal('org/a');
    expect(message).toContain(ref());
    expect(message).not.toMatch(/hf_secret|elsewhere|models--org--b/);
  });

  it('may end with the end of its line', async () => {
    for (const end of ['\n', '\r\n']) {
      writeFileSync(ref(), `${someCommit}${end}`);
      expect((await openCheckpoint('org/a')).hub).toEqual({ id: 'org/a', revision: someCommit });
    }
  });

  it('is refused where it, or a folder on the way, is a link', async () => {
    rmSync(ref());
    symlinkSync(join(repository('b'), 'refs', 'main'), ref());
    expect(await refusal('org/a')).toContain('is a link');
    rmSync(join(repository('a'), 'refs'), { recursive: true });
    symlinkSync(join(repository('b'), 'refs'), join(repository('a'), 'refs'));
    expect(await refusal('org/a')).toContain('is a link');
  });
});

describe('a snapshot', () => {
  it.each([
    ['a file of another repository', () => join(repository('b'), 'blobs', 'feed')],
    ['a snapshot’s file of another repository', () => join(snapshot('b'), 'model.safetensors')],
    [
      'a file anywhere',
      () => {
        const file = join(temporaryDirectory(), 'model.safetensors');
        writeFileSync(file, safetensors(small().tensors));
        return file;
      },
    ],
  ])('is refused where it links to %s, and by path it is none of the repository', async (_what, target) => {
    unlinkSync(join(snapshot('a'), 'model.safetensors'));
    symlinkSync(target(), join(snapshot('a'), 'model.safetensors'));
    for (const model of ['org/a', `org/a@${someCommit}`])
      expect(await refusal(model)).toContain('is a link to');
    const { hub, name } = await openCheckpoint(snapshot('a'));
    expect([hub, name]).toEqual([undefined, someCommit]);
  });

  it('is refused where a blob links to one of another repository', async () => {
    const blob = join(repository('a'), 'blobs', 'feed');
    unlinkSync(blob);
    symlinkSync(join(repository('b'), 'blobs', 'feed'), blob);
    expect(await refusal('org/a')).toContain('is a link to');
  });

  it.each([
    ['another repository’s', () => snapshot('b')],
    [
      'a folder anywhere',
      () => {
        const folder = temporaryDirectory();
        writeFileSync(join(folder, 'model.safetensors'), safetensors(small().tensors));
        return folder;
      },
    ],
    [
      'another commit’s',
      () => {
        writeModel('a', other);
        return snapshot('a', other);
      },
    ],
  ])('is refused where it is %s', async (_what, target) => {
    const path = target();
    writeFileSync(join(repository('a'), 'refs', 'main'), someCommit);
    rmSync(snapshot('a'), { recursive: true });
    symlinkSync(path, snapshot('a'));
    expect(await refusal('org/a')).toContain('leads to');
  });

  it('of a branch’s name is the commit that it leads to', async () => {
    rmSync(join(repository('a'), 'refs', 'main'));
    symlinkSync(someCommit, snapshot('a', 'main'));
    expect((await openCheckpoint('org/a')).hub).toEqual({ id: 'org/a', revision: someCommit });
  });

  it('is refused where the folder of its repository is another’s', async () => {
    rmSync(repository('a'), { recursive: true });
    symlinkSync(repository('b'), repository('a'));
    expect(await refusal('org/a')).toContain('a folder of another name');
  });
});

describe('a cache on several disks', () => {
  it('is read where it, or the folder of a repository, is a link', async () => {
    const disk = temporaryDirectory();
    renameSync(repository('a'), join(disk, 'models--org--a'));
    symlinkSync(join(disk, 'models--org--a'), repository('a'));
    const link = join(disk, 'cache');
    symlinkSync(realpathSync(cache), link);
    vi.stubEnv('HF_HUB_CACHE', link);
    for (const name of ['a', 'b']) {
      const { hub } = await openCheckpoint(`org/${name}`);
      expect(hub).toEqual({ id: `org/${name}`, revision: someCommit });
    }
  });
});

describe('the cache of ranges', () => {
  const fill = (): string => {
    const from = temporaryDirectory();
    writeFileSync(join(from, 'model.safetensors'), safetensors(small().tensors));
    writeFileSync(join(from, 'config.json'), '{}');
    rmSync(repository('a'), { recursive: true });
    return writeHeadersOnly(ranges, 'org/a', from);
  };

  it('is refused where a file of a model links to one of another', async () => {
    const folder = fill();
    expect((await openCheckpoint(`org/a@${someCommit}`)).path).toBe(folder);
    unlinkSync(join(folder, 'model.safetensors'));
    symlinkSync(join(repository('b'), 'blobs', 'feed'), join(folder, 'model.safetensors'));
    expect(await refusal(`org/a@${someCommit}`)).toContain('is a link to');
    expect((await openCheckpoint(folder)).hub).toBeUndefined();
  });

  it.each([
    ['another model', { id: 'org/b' }],
    ['another commit', { commit: other }],
    ['a file that is not its own', { sideFiles: ['../../../secret'] }],
  ])('has nothing of a model where its record is of %s', async (_what, change) => {
    const folder = fill();
    const record = {
      id: 'org/a',
      commit: someCommit,
      weights: ['model.safetensors'],
      sideFiles: [],
      ...change,
    };
    writeFileSync(join(folder, '.ranges', 'model.json'), JSON.stringify(record));
    await expect(openCheckpoint(`org/a@${someCommit}`)).rejects.toMatchObject({ code: 'MODEL_NOT_FOUND' });
  });
});
