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
import {
  control,
  dtypeIndex,
  exchange,
  execute,
  type Job,
  type JobStatus,
  jobKinds,
  nodeKinds,
  rowSenses,
  tryLock,
} from '../../src/native/addon.js';
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

const job = (
  kind: Job['kind'],
  inputs: readonly number[],
  output: number,
  count: number,
  offset = 0,
): Job => ({
  kind,
  sources: inputs.map((fd) => ({ fd, offset, dtype: 0 })),
  program: {
    nodes: [
      {
        kind: nodeKinds.linear,
        dtype: 0,
        inputs: inputs.map((_, index) => index),
        numbers: inputs.map(() => 1 / inputs.length),
      },
    ],
    first: 0,
    columns: 1,
  },
  outputs: [{ value: inputs.length, to: { fd: output, offset: 0, dtype: 0 } }],
  output: { fd: output, offset: 0, dtype: 0 },
  count,
});

describe('a copy', () => {
  it('moves bytes from any offset, and counts them', () => {
    const { directory, inputs, output } = files(Uint8Array.from([1, 2, 3, 4, 5]));
    const shared = newControl();
    expect(execute(job(jobKinds.copy, inputs, output, 3, 1), shared)).toMatchObject({ outcome: 'done' });
    expect([...readFileSync(join(directory, 'out'))]).toEqual([2, 3, 4]);
    expect([...shared]).toEqual([0n, 3n, 3n]);
  });

  it('says when its input is too short', () => {
    const { inputs, output } = files(new Uint8Array(10));
    expect(execute(job(jobKinds.copy, inputs, output, 11), newControl())).toMatchObject({
      outcome: 'inputShrank',
      source: 0,
    });
  });

  it('says why it cannot write, and why it cannot read', () => {
    const { directory, inputs } = files(new Uint8Array(10));
    const readOnly = openFile(join(directory, '0'), 'r');
    expect(execute(job(jobKinds.copy, inputs, readOnly, 10), newControl())).toMatchObject({
      outcome: 'writeFailed',
      reason: 'Bad file descriptor',
    });
    writeFileSync(join(directory, 'other'), new Uint8Array(10));
    const writeOnly = openFile(join(directory, 'other'), 'a');
    expect(execute(job(jobKinds.copy, [writeOnly], writeOnly, 10), newControl())).toMatchObject({
      outcome: 'readFailed',
    });
  });
});

describe('a comparing copy', () => {
  it('copies what is equal', () => {
    const { directory, inputs, output } = files(Uint8Array.from([1, 2]), Uint8Array.from([1, 2]));
    expect(execute(job(jobKinds.same, inputs, output, 2), newControl())).toMatchObject({ outcome: 'done' });
    expect([...readFileSync(join(directory, 'out'))]).toEqual([1, 2]);
  });

  it('says which source differs', () => {
    const { inputs, output } = files(
      Uint8Array.from([1, 2]),
      Uint8Array.from([1, 2]),
      Uint8Array.from([1, 3]),
    );
    expect(execute(job(jobKinds.same, inputs, output, 2), newControl())).toMatchObject({
      outcome: 'notEqual',
      source: 2,
    });
  });
});

describe('a linear combination', () => {
  it('never reads beyond a file, whatever it is asked', () => {
    const { inputs, output } = files(new Uint8Array(8), new Uint8Array(6));
    expect(execute(job(jobKinds.compute, inputs, output, 4), newControl())).toMatchObject({
      outcome: 'inputShrank',
      source: 1,
    });
    const wide = job(jobKinds.compute, inputs, output, 2 ** 49);
    const sources = wide.sources.map((source) => ({ ...source, dtype: dtypeIndex('F64') }));
    expect(execute({ ...wide, sources }, newControl())).toMatchObject({ outcome: 'inputShrank' });
    expect(execute(job(jobKinds.compute, inputs, output, 1, 2 ** 52), newControl())).toMatchObject({
      outcome: 'inputShrank',
      source: 0,
    });
  });

  it('stops at once when cancelled', () => {
    const { inputs, output } = files(new Uint8Array(8));
    const shared = newControl();
    shared[control.cancel] = 1n;
    const select = { kept: Uint8Array.of(1, 0), columns: 2, width: 1, first: 0, sense: rowSenses.input };
    for (const kind of Object.values(jobKinds)) {
      const sources = kind === jobKinds.copy ? inputs : [...inputs, ...inputs];
      expect(execute({ ...job(kind, sources, output, 2), select }, shared).outcome).toBe('cancelled');
    }
    expect(shared[control.bytesWritten]).toBe(0n);
  });

  // The file is truncated while its mapping is read: what would be SIGBUS becomes a status that names the source.
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
       import(workerData.addon).then(({ execute }) => parentPort.postMessage(execute(workerData.job, workerData.shared)));`,
      {
        eval: true,
        workerData: {
          addon: new URL('../../dist/native/addon.js', import.meta.url).href,
          job: job(jobKinds.compute, inputs, output, 2 ** 27),
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
      const { execute } = await import(${JSON.stringify(new URL('../../dist/native/addon.js', import.meta.url).href)});
      const range = (file, flags) => ({ fd: openSync(file, flags), offset: 0, dtype: 0 });
      const job = { kind: 2, sources: [range(${JSON.stringify(join(directory, '0'))}, 'r')], program: { nodes: [{ kind: 0, dtype: 0, inputs: [0], numbers: [1] }], first: 0, columns: 1 }, outputs: [{ value: 1, to: range(${JSON.stringify(join(directory, 'o'))}, 'w') }], count: 4 };
      if (execute(job, new BigInt64Array(new SharedArrayBuffer(24))).outcome !== 'done') process.exit(9);
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
  it('are numbered as the native code has them', () => {
    expect((['BF16', 'F16', 'F32', 'F64', 'F8_E4M3', 'F8_E5M2'] as const).map(dtypeIndex)).toEqual([
      0, 1, 2, 3, 4, 5,
    ]);
  });
});

it('writes nothing outside the range it was given', () => {
  const { directory, inputs, output } = files(Uint8Array.from([9, 9]));
  ftruncateSync(output, 6);
  const one = job(jobKinds.copy, inputs, output, 2);
  execute({ ...one, output: { fd: output, offset: 2, dtype: 0 } }, newControl());
  expect([...readFileSync(join(directory, 'out'))]).toEqual([0, 0, 9, 9, 0, 0]);
});
