import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { control, type Job, type JobStatus } from '../../src/core/native/job.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

interface Door {
  run(job: Job, shared: BigInt64Array): JobStatus;
  openRemote(memory: unknown, parts: unknown): number;
  closeRemote(file: number): void;
}

const door: Door = createRequire(import.meta.url)(
  fileURLToPath(
    new URL(`../../prebuilds/${process.platform}-${process.arch}/layerloom.node`, import.meta.url),
  ),
);

const opened = (path: string, flags = 'r'): number => {
  const fd = openSync(path, flags);
  onTestFinished(() => closeSync(fd));
  return fd;
};

/** The address of a program's first bytes in the memory of a process that runs it. */
const addressIn = (pid: number | 'self', program: string): number => {
  const maps = readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n');
  const first = maps.find((line) => line.endsWith(` ${program}`) && line.includes(' 00000000 '));
  return Number.parseInt(String(first), 16);
};

const copied = (fd: number, first: number, count: number): { status: JobStatus; bytes: Buffer } => {
  const path = join(temporaryDirectory(), 'out');
  const to = { fd: opened(path, 'w+'), begin: 0 };
  const shared = new BigInt64Array(new SharedArrayBuffer(control.words * BigInt64Array.BYTES_PER_ELEMENT));
  const status = door.run({ kind: 'copy', source: { fd, begin: first }, to, first: 0, count }, shared);
  return { status, bytes: readFileSync(path) };
};

describe.runIf(process.platform === 'linux')('a file in the memory of a process', () => {
  const program = process.execPath;
  const content = readFileSync(program);
  const whole = 3 * 1024 * 1024 + 5;

  it('has the bytes of its parts, at any offset and of any length', () => {
    const address = addressIn('self', program);
    const parts = Float64Array.of(10, address, 7, address + 100, whole, address);
    const file = door.openRemote(opened('/proc/self/mem'), parts);
    const expected = Buffer.concat([
      content.subarray(0, 10),
      content.subarray(100, 107),
      content.subarray(0, whole),
    ]);
    for (const [first, count] of [
      [0, whole + 17],
      [9, 2],
      [10, 7],
      [16, 1_000_000],
      [whole + 16, 1],
      [whole + 17, 0],
    ] as const) {
      const { status, bytes } = copied(file, first, count);
      expect(status.outcome).toBe('done');
      expect(bytes.equals(expected.subarray(first, first + count))).toBe(true);
    }
    for (const [first, count] of [
      [whole + 17, 1],
      [0, whole + 18],
      [2 ** 52, 1],
    ] as const)
      expect(copied(file, first, count).status).toMatchObject({ outcome: 'inputShrank', source: 0 });
    door.closeRemote(file);
    expect(copied(file, 0, 1).status).toMatchObject({
      outcome: 'readFailed',
      reason: 'Bad file descriptor',
    });
  });

  it('cannot be read where no memory is, nor behind another file', () => {
    const address = addressIn('self', program);
    const freed = door.openRemote(opened('/proc/self/mem'), Float64Array.of(100, address, 100, 4096));
    expect(copied(freed, 0, 100).status.outcome).toBe('done');
    expect(copied(freed, 50, 100).status).toMatchObject({ outcome: 'readFailed', reason: 'Bad address' });
    const empty = door.openRemote(opened('/dev/null'), Float64Array.of(100, address));
    expect(copied(empty, 0, 100).status).toMatchObject({ outcome: 'readFailed', reason: 'No such process' });
    expect(() => fstatSync(freed)).toThrow('EBADF');
  });

  it('ends with its process', async () => {
    const child = spawn(program, ['-e', 'setInterval(() => 0, 1000); console.log()']);
    await once(child.stdout, 'data');
    const memory = opened(`/proc/${child.pid}/mem`);
    const file = door.openRemote(memory, Float64Array.of(whole, addressIn(Number(child.pid), program)));
    expect(copied(file, 0, whole).bytes.equals(content.subarray(0, whole))).toBe(true);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(copied(file, 0, whole).status).toMatchObject({ outcome: 'readFailed', reason: 'No such process' });
  });

  it('is refused with parts that are no lengths and addresses', () => {
    const most = Number.MAX_SAFE_INTEGER;
    for (const parts of [
      [1],
      [0, 1],
      [-1, 1],
      [0.5, 1],
      [1, -1],
      [1, Number.NaN],
      [2, most],
      [1, 0, most, 0],
    ])
      expect(() => door.openRemote(0, Float64Array.from(parts)), String(parts)).toThrow('bad job: parts');
    expect(() => door.openRemote(0, [1, 1])).toThrow(TypeError);
    expect(() => door.openRemote(-1, Float64Array.of(1, 1))).toThrow(RangeError);
  });
});
