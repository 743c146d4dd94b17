import { spawnSync } from 'node:child_process';
import { closeSync, ftruncateSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WorkerPool } from '../../src/core/engine/threads/pool.js';
import type { Job } from '../../src/core/native/job.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

const mebibyte = 2 ** 20;
const never = new AbortController().signal;

const copying = (bytes: number): Extract<Job, { kind: 'copy' }> => {
  const directory = temporaryDirectory();
  const [source = -1, output = -1] = ['source', 'output'].map((name) => {
    const fd = openSync(join(directory, name), 'w+');
    onTestFinished(() => closeSync(fd));
    ftruncateSync(fd, bytes);
    return fd;
  });
  return {
    kind: 'copy',
    source: { fd: source, begin: 0 },
    to: { fd: output, begin: 0 },
    first: 0,
    count: bytes,
  };
};

describe('a pool that is disposed of', () => {
  it('ends its threads when their tasks have ended, though nobody waits for them', () => {
    const url = (path: string) =>
      JSON.stringify(fileURLToPath(new URL(`../../dist/${path}`, import.meta.url)));
    const program = `
      import { ftruncateSync, openSync } from 'node:fs';
      import { setTimeout } from 'node:timers/promises';
      import { WorkerPool } from ${url('core/engine/threads/pool.js')};
      const [source, output] = ['source', 'output'].map((name) => {
        const fd = openSync(${JSON.stringify(temporaryDirectory())} + '/' + name, 'w+');
        ftruncateSync(fd, ${64 * mebibyte});
        return { fd, begin: 0, dtype: 'BF16' };
      });
      const program = {
        sources: [{ ...source, slicing: 'elements' }],
        nodes: [{ kind: 'linear', dtype: 'BF16', inputs: [0], weights: [1] }],
        first: 0,
        count: ${16 * mebibyte},
        columns: 1,
      };
      const job = { kind: 'compute', program, outputs: [{ value: 1, ...output }] };
      const pool = new WorkerPool(2, new AbortController().signal);
      await Promise.all([pool.run([]), pool.run([])]);
      const ended = [];
      for (let task = 0; task < 8; task += 1) {
        const note = () => ended.push(task);
        pool.run(Array(100).fill(job)).then(note, note);
      }
      await setTimeout(20);
      await pool[Symbol.asyncDispose]();
      console.log(ended.length);
    `;
    const { status, signal, stdout, stderr } = spawnSync(
      process.execPath,
      ['--input-type=module', '-e', program],
      { encoding: 'utf8' },
    );
    expect({ status, signal, stdout, stderr }).toEqual({
      status: 0,
      signal: null,
      stdout: '8\n',
      stderr: '',
    });
  });

  it('is closed when both of two calls say so', async () => {
    const pool = new WorkerPool(1, never);
    let isUnderWay = true;
    void pool.checksum(copying(mebibyte).source.fd).finally(() => {
      isUnderWay = false;
    });
    const close = async () => {
      await pool[Symbol.asyncDispose]();
      return isUnderWay;
    };
    expect(await Promise.all([close(), close()])).toEqual([false, false]);
    await expect(pool.run([])).rejects.toThrow('closed');
  });
});

describe('threads', () => {
  const startedFor = async (threads: number, work: (pool: WorkerPool) => unknown = () => undefined) => {
    let started = 0;
    const count = () => {
      started += 1;
    };
    // Node reports a thread a moment after creation: waits, so that other pools' threads are not counted.
    await setImmediate();
    process.on('worker', count);
    {
      await using pool = new WorkerPool(threads, never);
      await pool.run([copying(mebibyte)]);
      await work(pool);
    }
    process.off('worker', count);
    return started;
  };

  it('are kept for the next pool of as many', async () => {
    expect(await startedFor(3)).toBe(3);
    expect(await startedFor(3)).toBe(0);
    expect(await startedFor(4)).toBe(4);
    expect(await startedFor(3)).toBe(3);
  });

  it('are each of one pool at a time', async () => {
    expect(await startedFor(2, async () => expect(await startedFor(2)).toBe(2))).toBe(4);
    expect(await startedFor(2)).toBe(0);
  });

  it('are kept of a pool that was stopped, and not where one has failed', async () => {
    await startedFor(2, (pool) => pool.stop(new Error('enough')));
    expect(await startedFor(2)).toBe(0);
    const unclonable = { ...copying(mebibyte), count: () => 0 } as unknown as Job;
    await startedFor(2, (pool) => expect(pool.run([unclonable])).rejects.toThrow('could not be cloned'));
    expect(await startedFor(2)).toBe(2);
  });

  it('that are kept do not keep the process alive, and end after a while', () => {
    const url = JSON.stringify(
      fileURLToPath(new URL('../../dist/core/engine/threads/pool.js', import.meta.url)),
    );
    const program = (then: string) => `
      import { setTimeout } from 'node:timers/promises';
      import { WorkerPool } from ${url};
      let running = 0;
      process.on('worker', (worker) => {
        running += 1;
        worker.on('exit', () => (running -= 1));
      });
      const pool = new WorkerPool(2, new AbortController().signal);
      await pool.run([]);
      await pool[Symbol.asyncDispose]();
      console.log(running);
      ${then}
    `;
    const printed = (then: string) =>
      spawnSync(process.execPath, ['--input-type=module', '-e', program(then)], {
        encoding: 'utf8',
        timeout: 20_000,
      });
    expect(printed('')).toMatchObject({ status: 0, stdout: '2\n', stderr: '' });
    expect(printed('while (running > 0) await setTimeout(50); console.log(running);')).toMatchObject({
      status: 0,
      stdout: '2\n0\n',
    });
  });
});

describe('a pool that is stopped', () => {
  it('drops the tasks that no thread has room for, and they throw the reason', async () => {
    await using pool = new WorkerPool(1, never);
    const job = copying(mebibyte);
    await pool.run([job]);
    const tasks = Array.from({ length: 100 }, () => pool.run([job]));
    pool.stop(new Error('enough'));
    const results = await Promise.allSettled(tasks);
    const dropped = results.filter(({ status }) => status === 'rejected');
    expect(new Set(dropped.map((result) => (result as PromiseRejectedResult).reason.message))).toEqual(
      new Set(['enough']),
    );
    // The thread has one running job and one waiting; these may still have ended.
    expect(dropped.length).toBeGreaterThanOrEqual(98);
    expect(pool.counters.bytesWritten).toBeLessThanOrEqual(3 * mebibyte);
  });

  it('throws the first reason, whatever comes after', async () => {
    const controller = new AbortController();
    await using pool = new WorkerPool(2, controller.signal);
    const run = pool.inLanes(() => {
      pool.stop(new Error('the first'));
      controller.abort(new Error('the second'));
      return Promise.reject(new Error('the third'));
    });
    await expect(run).rejects.toThrow('the first');
  });

  it('by a signal beforehand begins nothing', async () => {
    await using pool = new WorkerPool(1, AbortSignal.abort(new Error('beforehand')));
    await expect(pool.run([copying(mebibyte)])).rejects.toThrow('beforehand');
    await expect(pool.inLanes(() => Promise.reject(new Error('begun')))).rejects.toThrow('beforehand');
    expect(pool.counters).toEqual({ bytesRead: 0, bytesWritten: 0 });
  });

  it('gives no hash, and no error: what was written is of use without one', async () => {
    await using pool = new WorkerPool(1, never);
    const fd = copying(mebibyte).source.fd;
    const tasks = Array.from({ length: 20 }, () => pool.checksum(fd));
    pool.stop(new Error('enough'));
    expect(await Promise.all(tasks)).toContainEqual({ ok: true, sha256: undefined });
  });
});

describe('lanes', () => {
  it('end when every task has, also those of which a lane does not wait', async () => {
    await using pool = new WorkerPool(2, never);
    const job = copying(8 * mebibyte);
    let underWay = 0;
    const run = pool.inLanes(async () => {
      underWay += 3;
      const some = [1, 2, 3].map(() => pool.run([job]).finally(() => (underWay -= 1)));
      for (const task of some) task.catch(() => undefined);
      await Promise.race(some);
      throw new Error('of a lane');
    });
    await expect(run).rejects.toThrow('of a lane');
    expect(underWay).toBe(0);
  });
});

describe('a thread that dies', () => {
  it('stops the pool with what it died of, and no task waits for ever', async () => {
    await using pool = new WorkerPool(1, never);
    const job = copying(mebibyte);
    // More than a worker's heap holds.
    const deadly = Array.from({ length: 100 }, (_, i) => `${i}${'x'.repeat(mebibyte)}`) as unknown as Job[];
    const results = await Promise.allSettled([
      pool.run([job]),
      pool.run(deadly),
      ...Array.from({ length: 20 }, () => pool.run([job])),
    ]);
    expect(results.at(-1)).toMatchObject({
      status: 'rejected',
      reason: { code: 'ERR_WORKER_OUT_OF_MEMORY' },
    });
    expect(pool.stopped).toBe(true);
  });

  it('or could not be given a task stops it too', async () => {
    await using pool = new WorkerPool(1, never);
    const unclonable = { ...copying(mebibyte), count: () => 0 } as unknown as Job;
    await expect(pool.inLanes(async () => void (await pool.run([unclonable])))).rejects.toMatchObject({
      name: 'DataCloneError',
    });
  });
});
