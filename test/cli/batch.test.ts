import { existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { BatchCost, ExperimentRecord } from '../../src/index.js';
import { openCheckpoint } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';

// Slow disks.
vi.setConfig({ testTimeout: 180_000 });

const written = (merges = ['{name: default, method: layer_swap, bottom: [2, 3], top: 1}']) => {
  const root = temporaryDirectory();
  for (const [index, name] of ['base', 'math-1', 'math-2', 'swh-1', 'swh-2'].entries())
    writeCheckpoint(join(root, name), llama({ layers: 6, seed: 10 + index }));
  const file = join(root, 'experiment.yaml');
  writeFileSync(
    file,
    [
      'base: ./base',
      'tasks: {math-1: ./math-1, math-2: ./math-2}',
      'languages:',
      '  swahili: {swh-1: ./swh-1, swh-2: ./swh-2}',
      'merges:',
      ...merges.map((entry) => `  - ${entry}`),
      '',
    ].join('\n'),
  );
  return { root, file, out: join(root, 'out') };
};

const names = ['math-1+swh-1', 'math-1+swh-2', 'math-2+swh-1', 'math-2+swh-2'].flatMap((pair) =>
  ['b2', 'b3'].map((configuration) => `swahili/${pair}/default/${configuration}`),
);

const recordOf = (out: string): ExperimentRecord =>
  JSON.parse(readFileSync(join(out, 'experiment.json'), 'utf8')) as ExperimentRecord;

interface Event {
  readonly event: string;
  readonly name?: string;
  readonly state?: string;
  readonly cost?: BatchCost;
  readonly failed?: number;
}

const eventsOf = (stdout: string): Event[] =>
  stdout
    .split('\n')
    .filter((line) => line.startsWith('{"event"'))
    .map((line) => JSON.parse(line) as Event);

describe('layerloom batch --dry-run', () => {
  it('says what an experiment would cost, and writes nothing', async () => {
    const { file, out } = written();
    const { code, stdout, stderr } = await cli(['batch', file, '-o', out, '--dry-run']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/merges +8\n/);
    expect(stdout).toMatch(/distinct +\S+ kB in \d+ shards \(\S+ times less\)\n/);
    expect(stdout).toMatch(
      /to read +\S+ kB\n +on the disk +\S+ kB needed, \S+ .B free\n\ntime to merge: unknown until a first run of merges .*\n$/,
    );
    expect(existsSync(out)).toBe(false);
  });

  it('says it to programs too, with every merge', async () => {
    const { file } = written();
    const { stdout } = await cli(['batch', file, '--dry-run', '--json']);
    const { cost, merges } = JSON.parse(stdout) as { cost: BatchCost; merges: { name: string }[] };
    expect(merges.map(({ name }) => name).sort()).toEqual(names);
    // Layers: 2 to 4 of each task expert, 0 to 2 and 5 of each language expert. Each pair: embeddings, final
    // norm.
    expect(cost).toMatchObject({ merges: 8, shards: 2 * 3 + 2 * 4 + 4 * 2 });
    expect(cost.bytesDistinct).toBeLessThan(cost.bytesPlain / 2);
  });
});

describe('layerloom batch', () => {
  it('makes every merge, and says the cost before', async () => {
    const { file, out } = written();
    const { code, stdout, stderr } = await cli(['batch', file, '-o', out]);
    expect(code).toBe(0);
    expect(stderr).toMatch(/merges +8\n/);
    expect(stdout).toMatch(/8 of 8 merges, \S+ kB written and \S+ kB read in \S+ s\n$/);
    const { state, merges, cost, bytesRead, bytesWritten, references } = recordOf(out);
    expect([state, bytesRead, bytesWritten]).toEqual(['done', cost.bytesToRead, cost.bytesToWrite]);
    expect(merges.map(({ path }) => path).sort()).toEqual(names);
    expect(references.map(({ name, role }) => [name, role])).toEqual([
      ['base', 'base'],
      ...['math-1', 'math-2'].map((name) => [name, 'task']),
      ...['swh-1', 'swh-2'].map((name) => [name, 'language']),
    ]);
    for (const { path } of merges)
      expect((await openCheckpoint(join(out, path))).tensors.size).toBeGreaterThan(0);
  });

  it('links one read-only file where merges share a layer', async () => {
    const { file, out } = written();
    await cli(['batch', file, '-o', out, '-q']);
    const shard = (name: string) => statSync(join(out, name, 'model-00002-of-00008.safetensors'));
    expect(shard(names[0] ?? '').ino).toBe(shard(names[1] ?? '').ino);
    expect(shard(names[0] ?? '').mode & 0o777).toBe(0o444);
    expect(shard(names[0] ?? '').ino).not.toBe(shard(names[2] ?? '').ino);
  });

  it('prints one event a line with --json', async () => {
    const { file, out } = written();
    const { code, stdout, stderr } = await cli(['batch', file, '-o', out, '--json']);
    expect([code, stderr]).toEqual([0, '']);
    const lines = stdout.trimEnd().split('\n');
    const events = eventsOf(stdout);
    expect(events).toHaveLength(lines.length);
    const kinds = events.map(({ event }) => event).filter((event) => event !== 'progress');
    expect(kinds).toEqual(['plan', ...names.map(() => 'merge'), 'done']);
    const merges = events.filter(({ event }) => event === 'merge');
    expect(merges.map(({ name }) => name).sort()).toEqual(names);
    expect(merges.every(({ state }) => state === 'done')).toBe(true);
    expect(events.at(-1)).toMatchObject({ failed: 0, cost: { merges: 8 }, warnings: [] });
  });

  it('continues with --resume, and refuses to begin over what is there', async () => {
    const { file, out } = written();
    await cli(['batch', file, '-o', out, '-q']);
    const again = await cli(['batch', file, '-o', out]);
    expect([again.code, again.stderr]).toEqual([2, expect.stringMatching(/^error: .*out (is|holds) /)]);
    rmSync(join(out, names[3] ?? ''), { recursive: true });
    const { code, stdout } = await cli(['batch', file, '-o', out, '--resume', '--json']);
    expect(code).toBe(0);
    expect(eventsOf(stdout)[0]?.cost).toMatchObject({ shardsToWrite: 0, bytesToWrite: 0 });
    expect((await openCheckpoint(join(out, names[3] ?? ''))).tensors.size).toBeGreaterThan(0);
    expect(recordOf(out).state).toBe('done');
  });

  it('ends with 4 where some merges failed, and says which', async () => {
    const { root, file, out } = written(['{name: soup, method: soup}']);
    // Whole numbers are not averaged, and those of math-1 differ from the others.
    for (const [index, name] of ['math-1', 'math-2', 'swh-1', 'swh-2'].entries()) {
      const { tensors, ...rest } = llama({ layers: 6, seed: 10 + index });
      const data = Uint8Array.from({ length: 16 }, (_, at) => (name === 'math-1' ? at : 7));
      writeCheckpoint(join(root, name), {
        ...rest,
        tensors: { ...tensors, 'model.positions': { dtype: 'I64', shape: [2], data } },
      });
    }
    const failing = ['swahili/math-1+swh-1/soup', 'swahili/math-1+swh-2/soup'];
    const { code, stdout, stderr } = await cli(['batch', file, '-o', out]);
    expect(code).toBe(4);
    expect(stdout).toMatch(/2 of 4 merges, /);
    for (const name of failing) expect(existsSync(join(out, name))).toBe(false);
    // Each once, under its cause.
    expect(stderr).toMatch(/^error: 2 of 4 merges fail \(/m);
    const said = stdout + stderr;
    for (const name of failing) expect(said.split(`${name}: tensor model.positions`), name).toHaveLength(2);
    const { state, merges } = recordOf(out);
    expect(state).toBe('incomplete');
    expect(
      merges.map((merge) => [merge.name, merge.state, merge.error?.code]).filter(([, of]) => of !== 'done'),
    ).toEqual(failing.map((name) => [name, 'failed', 'NON_FLOATING_MISMATCH']));
    const json = await cli(['batch', file, '-o', out, '--resume', '--json']);
    expect(json.code).toBe(4);
    expect(eventsOf(json.stdout).at(-1)).toMatchObject({ event: 'done', failed: 2 });
    expect(json.stdout).toContain('"BATCH_INCOMPLETE"');
  });

  it('makes the parts of an experiment as separate runs, and the merges by a last one', async () => {
    const { root, file, out } = written();
    const store = join(root, 'store');
    const args = ['batch', file, '-o', out, '--store', store, '-j', '1'];
    const part = (index: number) => cli([...args, '--part', `${index}/3`, '--json']);
    // The second begins after the first has ended; both still divide the shards alike.
    const first = await part(0);
    const codes = [first, ...(await Promise.all([part(1), part(2)]))].map(({ code }) => code);
    expect(codes).toEqual([0, 0, 0]);
    expect(existsSync(join(out, 'experiment.json'))).toBe(false);
    const { code, stdout } = await cli([...args, '--resume', '--json']);
    expect(code).toBe(0);
    expect(eventsOf(stdout)[0]?.cost).toMatchObject({ merges: 8, shardsToWrite: 0 });
    expect(recordOf(out)).toMatchObject({ state: 'done', store });
  });

  it.each(['3/3', '1', '-1/3', '1/0', 'a/b'])('refuses --part %s', async (range) => {
    const { file, out } = written();
    const { code, stderr } = await cli(['batch', file, '-o', out, `--part=${range}`]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^error: --part: expected i\/n /)]);
    expect(existsSync(out)).toBe(false);
  });

  it('needs a directory, and an experiment that is right', async () => {
    const { file, out } = written(['{name: default, method: layer_swap, botom: 2}']);
    expect(await cli(['batch', file])).toMatchObject({ code: 2, stderr: expect.stringContaining('--out') });
    const { code, stderr } = await cli(['batch', file, '-o', out]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error: \S+experiment\.yaml:6:41: layer_swap .* did you mean bottom\?\n/);
    expect(existsSync(out)).toBe(false);
  });
});

describe('references of an experiment', () => {
  it('are recorded; one that cannot be opened is only a warning', async () => {
    const { root, file, out } = written();
    writeCheckpoint(join(root, 'joint'), llama({ layers: 6, seed: 20 }));
    writeFileSync(
      file,
      `${readFileSync(file, 'utf8')}references: {joint: {model: ./joint, role: joint}, late: ./late}\n`,
    );
    const missing = /^warning: reference late cannot be scored: .*\/late/m;
    const planned = await cli(['batch', file, '--dry-run']);
    expect([planned.code, planned.stderr]).toEqual([0, expect.stringMatching(missing)]);
    const { code, stderr } = await cli(['batch', file, '-o', out]);
    expect([code, stderr]).toEqual([0, expect.stringMatching(missing)]);
    expect(stderr).not.toContain('reference joint');
    // A name that the system does not follow into another user's folder.
    const late = join(root, 'late');
    symlinkSync(late, late);
    const unread = await cli(['batch', file, '--dry-run']);
    expect([unread.code, unread.stderr]).toEqual([
      0,
      expect.stringMatching(/reference late .* cannot be read/),
    ]);
    rmSync(late);
    expect(recordOf(out).references.slice(-2)).toEqual([
      { name: 'joint', role: 'joint', languages: ['swahili'], model: `joint=${join(root, 'joint')}` },
      { name: 'late', role: 'checkpoint', languages: ['swahili'], model: `late=${join(root, 'late')}` },
    ]);
  });
});

describe('what experiment init writes', () => {
  it('runs', async () => {
    const { root, out } = written();
    const file = join(root, 'written.yaml');
    const task = ['math-1', 'math-2'].map((name) => join(root, name));
    const init = await cli([
      ...['experiment', 'init', '--preset', 'paper', '--base', join(root, 'base'), '--task', ...task],
      ...['--lang', ...['swh-1', 'swh-2'].map((name) => `swahili:${join(root, name)}`), '-o', file],
    ]);
    expect([init.code, init.stderr]).toEqual([0, expect.stringMatching(/^Next: layerloom batch .*\n$/)]);
    // Six layers are too few for the paper's five and two with transitions.
    writeFileSync(
      file,
      readFileSync(file, 'utf8')
        .replace('bottom: [3, 4, 5]', 'bottom: [1, 2]')
        .replace('top: [0, 1, 2]', 'top: [0, 1]')
        .replaceAll('_transition: [0, 1, 2]', '_transition: [0, 1]')
        .replace('bottom: 5, top: 2', 'bottom: 2, top: 1')
        .replaceAll('method: layer_swap,', '$& bottom: 2, top: 1,')
        .replaceAll('method: layer_swap}', 'method: layer_swap, bottom: 2, top: 1}'),
    );
    const { code, stderr } = await cli(['batch', file, '-o', out]);
    expect([code, stderr]).toEqual([0, expect.stringContaining('merges')]);
    const { merges, evaluate } = recordOf(out);
    expect(merges).toHaveLength(4 * (1 + 32 + 1 + 2 + 4) + 2 * 2 + 1 + 1);
    expect(merges.every(({ state }) => state === 'done')).toBe(true);
    expect(merges.map(({ name }) => name)).toContain('all/multilingual');
    expect(evaluate).toMatchObject({ harness: 'lm-eval', fewshot: 8 });
  });
});

describe('the store of a batch', () => {
  it('is listed, verified, and emptied of what no merge needs any more', async () => {
    const { file, out } = written();
    await cli(['batch', file, '-o', out, '-q']);
    const store = join(out, '.store');
    const { shards } = recordOf(out).cost;
    const listed = JSON.parse((await cli(['store', 'ls', store, '--json'])).stdout);
    expect(listed.shards).toHaveLength(shards);
    expect((await cli(['store', 'verify', store])).stdout).toContain(`${shards} shards read`);
    expect((await cli(['store', 'gc', store])).stdout).toContain(`removed 0 shards (0 B), kept ${shards}`);
    // The two merges of one pair, with its embeddings and its final norm.
    for (const name of names.slice(0, 2)) rmSync(join(out, name), { recursive: true });
    expect((await cli(['store', 'gc', store])).stdout).toContain('removed 2 shards');
    const { stdout } = await cli(['batch', file, '-o', out, '--resume', '--json']);
    expect(eventsOf(stdout)[0]?.cost).toMatchObject({ shards, shardsToWrite: 2 });
  });
});

describe('layerloom --help', () => {
  it('lists what works on experiments', async () => {
    const { stdout } = await cli(['--help']);
    for (const command of ['batch', 'experiment', 'store'])
      expect(stdout).toMatch(RegExp(`^ +${command} `, 'm'));
    expect(stdout).toContain('4 part of a batch failed');
    const help = (await cli(['batch', '--help'])).stdout;
    for (const option of ['--store', '--link', '--part', '--resume', '--dry-run', '--json'])
      expect(help).toContain(option);
    expect((await cli(['experiment', '--help'])).stdout).toMatch(
      /init[\s\S]*slurm[\s\S]*snakemake[\s\S]*kubernetes/,
    );
  });
});

describe('layerloom batch --attest', () => {
  it.each([
    [['--in-place'], '--in-place'],
    [['--part', '0/2'], '--part'],
  ])('is refused where no merge is written: %s', async (words, named) => {
    const { file, out } = written();
    const { code, stderr } = await cli(['batch', file, '-o', out, '--attest', ...words]);
    expect([code, stderr]).toEqual([
      2,
      `error: --attest states merges that are written, and ${named} writes none\n`,
    ]);
    expect(existsSync(out)).toBe(false);
  });
});
