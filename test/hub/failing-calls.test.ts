import { existsSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { putInPlace } from '../../src/core/base/files/put-in-place.js';
import { promote } from '../../src/core/models/sources/hub/cache/promote.js';
import { holdersPath } from '../../src/core/models/sources/ranges/folder/folder.js';
import { holdRangeFolder } from '../../src/core/models/sources/ranges/folder/hold.js';
import { lockNow } from '../../src/core/models/sources/ranges/folder/lock.js';
import { RangeFile } from '../../src/core/models/sources/ranges/range-file.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { someCommit } from '../fixtures/range-cache.js';

// Failing calls of the cache, as found by the fault simulator (test/faults).

const methods = await open(import.meta.filename).then(async (file) => {
  await file.close();
  return Object.getPrototypeOf(file) as Awaited<ReturnType<typeof open>>;
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const failure = Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });

const folderOf = (root: string): string => join(root, 'models--org--a', someCommit);

const listed = { name: 'model.safetensors', etag: 'a'.repeat(40), bytes: 1000 };

/** Open files of a directory; known only on Linux. */
const openIn = (directory: string): string[] =>
  (existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd') : []).flatMap((fd) => {
    try {
      const path = readlinkSync(join('/proc/self/fd', fd));
      return path.startsWith(directory) ? [path] : [];
    } catch {
      return [];
    }
  });

describe('a file of the cache of ranges', () => {
  it('is closed where it cannot be made', async () => {
    const root = temporaryDirectory();
    vi.spyOn(methods, 'truncate').mockResolvedValueOnce().mockRejectedValueOnce(failure);
    await expect(RangeFile.open(folderOf(root), listed)).rejects.toMatchObject({ code: 'WRITE_FAILED' });
    expect(openIn(root)).toEqual([]);
  });

  it('names itself where its record cannot be written, and that error is the one that is thrown', async () => {
    const root = temporaryDirectory();
    const write = async () => {
      await using ranges = await RangeFile.open(folderOf(root), listed);
      vi.spyOn(methods, 'appendFile').mockRejectedValue(failure);
      await ranges?.write([Buffer.alloc(10)], 0);
      await ranges?.noteServed('another');
    };
    await expect(write()).rejects.toMatchObject({
      code: 'WRITE_FAILED',
      message: expect.stringContaining('model.safetensors cannot be written: i/o error (EIO)') as string,
    });
    expect(openIn(root)).toEqual([]);
  });

  it('names itself where it cannot be read', async () => {
    await using ranges = await RangeFile.open(folderOf(temporaryDirectory()), listed);
    vi.spyOn(methods, 'read').mockRejectedValue(failure);
    await expect(ranges?.read(0, 10)).rejects.toMatchObject({ code: 'READ_FAILED' });
  });
});

describe('a complete file', () => {
  it('is closed where the download was stopped', async () => {
    const root = temporaryDirectory();
    await using ranges = (await RangeFile.open(folderOf(root), listed)) as RangeFile;
    const before = openIn(root);
    const at = { cache: join(root, 'hub'), id: 'org/a', commit: someCommit };
    const promotion = promote(ranges, at, listed, AbortSignal.abort());
    await expect(promotion).rejects.toMatchObject({ code: 'INTERRUPTED' });
    await vi.waitFor(() => expect(openIn(root)).toEqual(before));
  });
});

describe('a lock', () => {
  it('is closed, and names its file, where that cannot be examined', async () => {
    const root = temporaryDirectory();
    vi.spyOn(methods, 'stat').mockRejectedValueOnce(failure);
    await expect(lockNow(join(root, 'lock'))).rejects.toMatchObject({
      code: 'WRITE_FAILED',
      message: expect.stringContaining(join(root, 'lock')) as string,
    });
    expect(openIn(root)).toEqual([]);
  });
});

describe('a process that holds a model', () => {
  it('holds it anew where the cache was removed by hand', async () => {
    const root = temporaryDirectory();
    const holders = holdersPath(folderOf(root));
    await holdRangeFolder(folderOf(root), root);
    const before = readdirSync(holders);
    await holdRangeFolder(folderOf(root), root);
    expect(readdirSync(holders)).toEqual(before);
    rmSync(folderOf(root), { recursive: true });
    await Promise.all([holdRangeFolder(folderOf(root), root), holdRangeFolder(folderOf(root), root)]);
    expect(readdirSync(holders)).toHaveLength(1);
    expect(readdirSync(holders)).not.toEqual(before);
  });
});

describe('what is put in place', () => {
  it('leaves nothing where it fails, and removes what killed writers left, once it is two minutes old', async () => {
    const root = temporaryDirectory();
    const path = join(root, 'blob');
    const failing = putInPlace(path, async (temporary) => {
      await writeFile(temporary, 'half');
      throw failure;
    });
    await expect(failing).rejects.toBe(failure);
    expect(readdirSync(root)).toEqual([]);
    writeFileSync(`${path}.0123abcd.incomplete`, 'half');
    symlinkSync('elsewhere', `${path}.0123abce.incomplete`);
    writeFileSync(`${path}.json.0123abcd.incomplete`, 'of another');
    const put = (isOnlyWriter = false) =>
      putInPlace(path, (temporary) => writeFile(temporary, 'whole'), { isOnlyWriter });
    await put();
    expect(readdirSync(root)).toHaveLength(4);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 130_000 });
    await put();
    expect(readdirSync(root).sort()).toEqual(['blob', 'blob.json.0123abcd.incomplete']);
    vi.useRealTimers();
    writeFileSync(`${path}.0123abcd.incomplete`, 'half');
    await put(true);
    expect(readdirSync(root)).toHaveLength(2);
  });
});
