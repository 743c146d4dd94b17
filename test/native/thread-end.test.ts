import { spawnSync } from 'node:child_process';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

const file = fileURLToPath(
  new URL(`../../prebuilds/${process.platform}-${process.arch}/layerloom.node`, import.meta.url),
);

describe('a thread that is ended inside the addon', () => {
  const endIn = (how: string) => {
    const path = join(temporaryDirectory(), 'in');
    writeFileSync(path, '');
    truncateSync(path, 2 ** 25);
    const worker = `
      const { openSync } = require('node:fs');
      const door = require(${JSON.stringify(file)});
      const [from, to] = [openSync(${JSON.stringify(path)}, 'r'), openSync(${JSON.stringify(`${path}.out`)}, 'w+')];
      const program = { sources: [{ fd: from, begin: 0, dtype: 'BF16', slicing: 'elements' }],
        nodes: [{ kind: 'linear', dtype: 'BF16', inputs: [0], weights: [1] }], first: 0, count: 2 ** 24, columns: 1, watched: [0, 1] };
      const job = { kind: 'compute', program, outputs: [{ value: 1, fd: to, begin: 0, dtype: 'BF16' }] };
      const shared = new BigInt64Array(require('node:worker_threads').workerData);
      for (;;) door.run(job, shared);`;
    const script = `
      const { Worker } = require('node:worker_threads');
      const shared = new SharedArrayBuffer(24);
      const worker = new Worker(${JSON.stringify(worker)}, { eval: true, workerData: shared });
      const words = new BigInt64Array(shared);
      const poll = setInterval(async () => {
        if (Atomics.load(words, 2) === 0n) return;
        clearInterval(poll);
        ${how}
        console.log('ended well');
      }, 1);`;
    return spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
  };

  it('by terminate() ends quietly', () => {
    expect(endIn('await worker.terminate();')).toMatchObject({
      stdout: 'ended well\n',
      stderr: '',
      status: 0,
    });
  });

  it('by process.exit() ends quietly', () => {
    expect(endIn('process.exit(7);')).toMatchObject({ stdout: '', stderr: '', status: 7 });
  });
});
