import { spawnSync } from 'node:child_process';
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import { itemAt } from '../../src/core/base/errors/lookup.js';
import { exchange, run, tryLock } from '../../src/core/native/addon.js';
import { control, type Job, type JobStatus, type StoredSource } from '../../src/core/native/job.js';
import { arithmeticDtypes, bitsOf } from '../../src/core/tensor/dtype.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

const openFile = (path: string, flags: string): number => {
  const fd = openSync(path, flags);
  onTestFinished(() => closeSync(fd));
  return fd;
};

const files = (...contents: Uint8Array[]) => {
  const directory = temporaryDirectory();
  const inputs = contents.map((content, index) => {
    writeFileSync(join(directory, `${index}`), content);
    return openFile(join(directory, `${index}`), 'r');
  });
  return { directory, inputs, output: openFile(join(directory, 'out'), 'w+') };
};

const newControl = () => new BigInt64Array(new SharedArrayBuffer(control.words * 8));

const copyJob = (input: number, output: number, count: number, first = 0): Job => ({
  kind: 'copy',
  source: { fd: input, begin: 0 },
  to: { fd: output, begin: 0 },
  first,
  count,
});

const sameJob = (inputs: readonly number[], output: number, count: number): Job => ({
  kind: 'same',
  sources: inputs.map((fd) => ({ fd, begin: 0 })),
  to: { fd: output, begin: 0 },
  first: 0,
  count,
});

const computeJob = (
  inputs: readonly number[],
  output: number,
  count: number,
  source: Partial<Pick<StoredSource, 'begin' | 'dtype'>> = {},
): Job => ({
  kind: 'compute',
  program: {
    sources: inputs.map((fd) => ({ fd, begin: 0, dtype: 'BF16', slicing: 'elements', ...source })),
    nodes: [
      {
        kind: 'linear',
        dtype: 'BF16',
        inputs: inputs.map((_, index) => index),
        weights: inputs.map(() => 1 / inputs.length),
      },
    ],
    first: 0,
    count,
    columns: 1,
    watched: [],
  },
  outputs: [{ value: inputs.length, fd: output, begin: 0, dtype: 'BF16' }],
});

describe('a copy', () => {
  it('moves bytes from any offset, and counts them', () => {
    const { directory, inputs, output } = files(Uint8Array.from([1, 2, 3, 4, 5]));
    const shared = newControl();
    const source = { fd: itemAt(inputs, 0), begin: 1 };
    const to = { fd: output, begin: 0 };
    expect(run({ kind: 'copy', source, to, first: 0, count: 3 }, shared)).toEqual({
      outcome: 'done',
      source: 0,
      reason: '',
      nonFinite: [],
    });
    expect([...readFileSync(join(directory, 'out'))]).toEqual([2, 3, 4]);
    expect([...shared]).toEqual([0n, 3n, 3n]);
  });

  it('of a slice goes as far into the output as it is in the input', () => {
    const { directory, inputs, output } = files(Uint8Array.from([1, 2, 3, 4, 5]));
    run(copyJob(itemAt(inputs, 0), output, 2, 3), newControl());
    expect([...readFileSync(join(directory, 'out'))]).toEqual([0, 0, 0, 4, 5]);
  });

  it('says when its input is too short', () => {
    const { inputs, output } = files(new Uint8Array(10));
    expect(run(copyJob(itemAt(inputs, 0), output, 11), newControl())).toMatchObject({
      outcome: 'inputShrank',
      source: 0,
    });
  });

  it('says why it cannot write, and why it cannot read', () => {
    const { directory, inputs } = files(new Uint8Array(10));
    const readOnly = openFile(join(directory, '0'), 'r');
    expect(run(copyJob(itemAt(inputs, 0), readOnly, 10), newControl())).toMatchObject({
      outcome: 'writeFailed',
      reason: 'Bad file descriptor',
    });
    writeFileSync(join(directory, 'other'), new Uint8Array(10));
    const writeOnly = openFile(join(directory, 'other'), 'a');
    expect(run(copyJob(writeOnly, writeOnly, 10), newControl())).toMatchObject({
      outcome: 'readFailed',
    });
  });
});

describe('a comparing copy', () => {
  it('copies what is equal', () => {
    const { directory, inputs, output } = files(Uint8Array.from([1, 2]), Uint8Array.from([1, 2]));
    expect(run(sameJob(inputs, output, 2), newControl())).toMatchObject({ outcome: 'done' });
    expect([...readFileSync(join(directory, 'out'))]).toEqual([1, 2]);
  });

  it('says which source differs', () => {
    const { inputs, output } = files(
      Uint8Array.from([1, 2]),
      Uint8Array.from([1, 2]),
      Uint8Array.from([1, 3]),
    );
    expect(run(sameJob(inputs, output, 2), newControl())).toMatchObject({
      outcome: 'notEqual',
      source: 2,
    });
  });
});

describe('a linear combination', () => {
  it('never reads beyond a file, whatever it is asked', () => {
    const { inputs, output } = files(new Uint8Array(8), new Uint8Array(6));
    expect(run(computeJob(inputs, output, 4), newControl())).toMatchObject({
      outcome: 'inputShrank',
      source: 1,
    });
    expect(run(computeJob(inputs, output, 2 ** 49, { dtype: 'F64' }), newControl())).toMatchObject({
      outcome: 'inputShrank',
    });
    expect(run(computeJob(inputs, output, 1, { begin: 2 ** 52 }), newControl())).toMatchObject({
      outcome: 'inputShrank',
      source: 0,
    });
  });

  it('stops at once when cancelled', () => {
    const { inputs, output } = files(new Uint8Array(8));
    const shared = newControl();
    shared[control.cancel] = 1n;
    const input = itemAt(inputs, 0);
    for (const job of [
      copyJob(input, output, 2),
      sameJob([input, input], output, 2),
      computeJob(inputs, output, 2),
    ])
      expect(run(job, shared).outcome).toBe('cancelled');
    expect(shared[control.bytesWritten]).toBe(0n);
  });

  // Truncates the file while its mapping is read: the SIGBUS becomes a status that names the source.
  it('survives an input that shrinks under it', async () => {
    const directory = temporaryDirectory();
    const path = join(directory, 'in');
    writeFileSync(path, '');
    truncateSync(path, 2 ** 28);
    const stable = join(directory, 'stable');
    writeFileSync(stable, '');
    truncateSync(stable, 2 ** 28);
    const shared = newControl();
    const inputs = [openFile(stable, 'r'), openFile(path, 'r')];
    const output = openFile(join(directory, 'out'), 'w+');
    const worker = new Worker(
      `const { parentPort, workerData } = require('node:worker_threads');
       import(workerData.addon).then(({ run }) => parentPort.postMessage(run(workerData.job, workerData.shared)));`,
      {
        eval: true,
        workerData: {
          addon: new URL('../../dist/core/native/addon.js', import.meta.url).href,
          job: computeJob(inputs, output, 2 ** 27),
          shared,
        },
      },
    );
    const status = new Promise<JobStatus>((resolve) => worker.once('message', resolve));
    while (Atomics.load(shared, control.bytesWritten) === 0n) await setTimeout(1);
    truncateSync(path, 0);
    expect(await status).toMatchObject({ outcome: 'inputShrank', source: 1 });
    await worker.terminate();
  });
});

describe('a bus error from elsewhere', () => {
  it('ends the process, as it would without layerloom', async () => {
    const { directory } = files(new Uint8Array(8));
    const script = `
      const { openSync } = await import('node:fs');
      const { run } = await import(${JSON.stringify(new URL('../../dist/core/native/addon.js', import.meta.url).href)});
      const source = { fd: openSync(${JSON.stringify(join(directory, '0'))}, 'r'), begin: 0, dtype: 'BF16', slicing: 'elements' };
      const node = { kind: 'linear', dtype: 'BF16', inputs: [0], weights: [1] };
      const output = { value: 1, fd: openSync(${JSON.stringify(join(directory, 'o'))}, 'w'), begin: 0, dtype: 'BF16' };
      const program = { sources: [source], nodes: [node], first: 0, count: 4, columns: 1, watched: [] };
      if (run({ kind: 'compute', program, outputs: [output] }, new BigInt64Array(new SharedArrayBuffer(24))).outcome !== 'done') process.exit(9);
      process.kill(process.pid, 'SIGBUS');
      await new Promise((resolve) => setTimeout(resolve, 10_000));`;
    expect(spawnSync(process.execPath, ['--input-type=module', '-e', script]).signal).toBe('SIGBUS');
  });
});

describe('a lock', () => {
  it('is held by one open file until that is closed', () => {
    const path = join(temporaryDirectory(), 'lock');
    const first = openSync(path, 'a');
    const second = openFile(path, 'a');
    expect(tryLock(first)).toBe('taken');
    expect(tryLock(second)).toBe('held elsewhere');
    closeSync(first);
    expect(tryLock(second)).toBe('taken');
  });
});

describe('an exchange', () => {
  it('swaps two directories in one step', () => {
    const root = temporaryDirectory();
    for (const name of ['a', 'b']) {
      mkdirSync(join(root, name));
      writeFileSync(join(root, name, 'file'), name);
    }
    expect(exchange(join(root, 'a'), join(root, 'b'))).toBe(true);
    expect(readFileSync(join(root, 'a', 'file'), 'utf8')).toBe('b');
  });

  it('throws where one is not there', () => {
    const root = temporaryDirectory();
    expect(() => exchange(join(root, 'a'), join(root, 'b'))).toThrow('No such file');
  });
});

describe('dtypes', () => {
  it.each(arithmeticDtypes)('%s has its width in native code', (dtype) => {
    const { directory, inputs, output } = files(new Uint8Array(64).fill(1));
    const source = { fd: itemAt(inputs, 0), begin: 0, dtype, slicing: 'elements' } as const;
    const program = { sources: [source], nodes: [], first: 1, count: 2, columns: 1, watched: [] };
    const outputs = [{ value: 0, fd: output, begin: 0, dtype }];
    const width = bitsOf(dtype) / 8;
    for (const one of [program, { ...program, scattered: true } as const]) {
      ftruncateSync(output, 0);
      expect(run({ kind: 'compute', program: one, outputs }, newControl())).toMatchObject({
        outcome: 'done',
      });
      expect([...readFileSync(join(directory, 'out'))]).toEqual([
        ...new Uint8Array(width),
        ...new Uint8Array(2 * width).fill(1),
      ]);
    }
  });
});

it('writes nothing outside the range it was given', () => {
  const { directory, inputs, output } = files(Uint8Array.from([9, 9]));
  ftruncateSync(output, 6);
  const source = { fd: itemAt(inputs, 0), begin: 0 };
  run({ kind: 'copy', source, to: { fd: output, begin: 2 }, first: 0, count: 2 }, newControl());
  expect([...readFileSync(join(directory, 'out'))]).toEqual([0, 0, 9, 9, 0, 0]);
});
