import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { freemem } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory, writeLarge, writePair } from '../fixtures/checkpoints.js';
import { startCli } from '../fixtures/cli.js';

interface Line {
  readonly call: number;
  readonly [key: string]: unknown;
}

const token = randomBytes(15).toString('hex');

const nameOf = (scratch: number): string => `.layerloom-scratch-${token}${String(scratch).padStart(2, '0')}`;

const start = () => {
  const child = startCli(['serve-calls']);
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const lines: Line[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line) as Line));
  const send = (request: object) => child.stdin.write(`${JSON.stringify(request)}\n`);
  const ask = (call: number, directory: string, ...words: string[]) =>
    send({ call, words, directory, environment: { HOME: directory, ASKED: 'yes' } });
  const end = (call: number) =>
    expect
      .poll(() => lines.find((line) => line.call === call && ('result' in line || 'error' in line)), {
        timeout: 20_000,
      })
      .toBeDefined()
      .then(() => lines.findLast((line) => line.call === call));
  const directoryOf = async (call: number): Promise<string> => {
    const last = await end(call);
    return (last?.['result'] as { directory: string } | undefined)?.directory ?? '';
  };
  return { child, exit, lines, send, ask, end, directoryOf };
};

describe('calls from another language', () => {
  it('are answered in order by what --json prints, in the directory of each', async () => {
    const { child, exit, lines, ask, end } = start();
    const { root } = writePair();
    ask(1, root, 'diff', '--', 'task', 'language');
    ask(2, root, 'swap', '--task=task', '--lang=language', '--bottom=1', '--top=1', '--out=merged', '--');
    expect(await end(2)).toMatchObject({ result: { out: join(root, 'merged'), method: 'layer_swap' } });
    expect(await end(1)).toMatchObject({ result: { equal: false } });
    expect(lines.filter((line) => 'progress' in line).map(({ call }) => call)).toContain(2);
    child.stdin.end();
    expect(await exit).toBe(0);
  });

  it('are refused in words of Python where the command line names its options', async () => {
    const { child, exit, ask, end } = start();
    const { root } = writePair();
    const models = ['swap', '--task=task', '--lang=language', '--bottom=1', '--top=1', '--out=merged'];
    ask(1, root, ...models, '--save-recipe=task', '--');
    expect(await end(1)).toMatchObject({
      error: { message: 'task: exists; name another file for `save_recipe`, or `force` to replace it' },
    });
    ask(2, root, ...models, '--tokenizer=unio', '--');
    expect(await end(2)).toMatchObject({
      error: { message: expect.stringMatching(/^tokenizer: expected auto/) },
    });
    ask(3, root, ...models, '--weights=1,x', '--');
    expect(await end(3)).toMatchObject({
      error: { message: 'weights: expected numbers, or magnitude, got [1,"x"]' },
    });
    // A command to type becomes a call.
    ask(4, root, 'evaluate', '--', '.');
    expect(await end(4)).toMatchObject({
      error: {
        message: expect.stringMatching(
          /run `layerloom\.run_experiment\("EXPERIMENT\.yaml", out="[^"]+"\)` first/,
        ),
      },
    });
    child.stdin.end();
    expect(await exit).toBe(0);
  });

  it('are refused by the error, with parameters spelt as in Python', async () => {
    const { child, exit, ask, end } = start();
    const { root } = writePair();
    ask(1, root, 'swap', '--task=task', '--lang=language', '--bottom-transition=x', '--out=merged', '--');
    expect(await end(1)).toMatchObject({
      error: {
        code: 'INVALID_PARAMETER',
        exitCode: 2,
        message: expect.stringMatching(/^bottom_transition: expected .*, got "x"$/),
        details: { parameter: 'bottomTransition', value: 'x' },
      },
    });
    ask(2, root, 'swap', '--task=task', '--lang=language', '--');
    expect(await end(2)).toMatchObject({ error: { message: 'required option `out` not specified' } });
    ask(3, join(root, 'nowhere'), 'diff', '--', 'task', 'language');
    expect(await end(3)).toMatchObject({
      error: { code: 'INTERNAL', message: expect.stringContaining('no such file') },
    });
    child.stdin.end();
    expect(await exit).toBe(0);
  });

  it('have directories, which are removed when they are released, and with the end of the input', async () => {
    const { child, exit, send, end, directoryOf } = start();
    const root = temporaryDirectory();
    for (const scratch of [1, 2, 3]) send({ scratch, bytes: 1000, beside: root, name: nameOf(scratch) });
    const made: string[] = [];
    for (const call of [1, 2, 3]) {
      const directory = await directoryOf(call);
      made.push(directory);
      writeFileSync(join(directory, 'file'), 'content');
    }
    const there = () => made.map((directory) => existsSync(directory));
    expect([new Set(made).size, ...there()]).toEqual([3, true, true, true]);
    // The caller knows the directory before the answer.
    expect(made.map((directory) => basename(directory))).toEqual([1, 2, 3].map(nameOf));
    send({ release: 2 });
    await expect.poll(there).toEqual([true, false, true]);
    // Scratch directories get at most half of the free memory.
    send({ scratch: 4, bytes: Math.round(0.75 * freemem()), beside: root, name: nameOf(4) });
    expect(await end(4)).toMatchObject({ result: { directory: expect.stringMatching(`^${root}`) } });
    // A used name is refused, and its directory stays.
    send({ scratch: 6, bytes: 1000, beside: root, name: nameOf(1) });
    expect(await end(6)).toMatchObject({ error: { code: 'WRITE_FAILED' } });
    expect(there()).toEqual([true, false, true]);
    send({ scratch: 5, bytes: 1e18, beside: root, name: nameOf(5) });
    expect(await end(5)).toMatchObject({ error: { code: 'DISK_SPACE', exitCode: 1, warnings: [] } });
    child.stdin.end();
    expect(await exit).toBe(0);
    expect([...there(), ...readdirSync(root)]).toEqual([false, false, false]);
  });

  it('are made beside one whose owner was not written whole', async () => {
    const root = temporaryDirectory();
    const half = join(root, nameOf(7));
    mkdirSync(half);
    writeFileSync(join(half, 'owner.json'), '{');
    const { child, exit, send, directoryOf } = start();
    send({ scratch: 1, bytes: 1000, beside: root, name: nameOf(8) });
    expect(basename(await directoryOf(1))).toBe(nameOf(8));
    child.stdin.end();
    expect(await exit).toBe(0);
    expect(existsSync(half)).toBe(true);
  });

  it('leave no directory when their process was killed to the next one', async () => {
    const killed = start();
    killed.send({ scratch: 1, bytes: 1000, beside: temporaryDirectory(), name: nameOf(1) });
    const directory = await killed.directoryOf(1);
    killed.child.kill('SIGKILL');
    await killed.exit;
    expect(existsSync(directory)).toBe(true);
    const next = start();
    next.send({ scratch: 1, bytes: 1000, beside: dirname(directory), name: nameOf(2) });
    await next.end(1);
    expect(existsSync(directory)).toBe(false);
    next.child.stdin.end();
    await next.exit;
  });

  it('are stopped, before and after they begin, and with the end of the input', async () => {
    const { child, exit, ask, end } = start();
    const root = temporaryDirectory();
    for (const [seed, name] of ['a', 'b'].entries()) writeLarge(join(root, name), 8, 32, seed);
    for (const call of [1, 2, 3]) ask(call, root, 'soup', `--out=merged-${call}`, '--', 'a', 'b');
    for (const stop of [2, 1]) child.stdin.write(`${JSON.stringify({ stop })}\n`);
    expect(await end(2)).toMatchObject({ error: { code: 'INTERRUPTED', exitCode: 130 } });
    expect(await end(1)).toMatchObject({ error: { code: 'INTERRUPTED', exitCode: 130 } });
    child.stdin.end();
    expect(await exit).toBe(0);
    for (const name of ['merged-1', 'merged-2', 'merged-3', '.merged-3.layerloom-partial'])
      expect(existsSync(join(root, name))).toBe(false);
  });
});
