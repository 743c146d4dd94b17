import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { fill, llama, llamaShapes, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { cli, finished, startCli } from '../fixtures/cli.js';
import {
  contentsOf,
  experimentText,
  isLasting,
  mergesOfFixture,
  recordIn,
  someMerges,
  writeExperiment,
} from '../fixtures/experiment.js';

// Slow disks.
vi.setConfig({ testTimeout: 180_000 });

const eventsOf = (stdout: string): Record<string, unknown>[] =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

const lastOf = (stdout: string) => eventsOf(stdout).at(-1) ?? {};

const smallDisk = (size: string): string | undefined => {
  const directory = join(temporaryDirectory(), 'disk');
  mkdirSync(directory);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'none', directory], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  onTestFinished(() => void execFileSync('umount', ['-l', directory]));
  return directory;
};

const resize = (disk: string, options: string): void =>
  void execFileSync('mount', ['-o', `remount,${options}`, disk]);

const expectTruthful = (out: string): void => {
  const { merges } = recordIn(out);
  for (const { path, state } of merges)
    if (state === 'done') expect(existsSync(join(out, path, 'layerloom.json'))).toBe(true);
};

const needsRoot = 'only root may mount a disk';

describe('layerloom batch', () => {
  it('says one event a line, and what it did', async () => {
    // TIES reads the tensors that it trims more than once.
    const { file, out } = writeExperiment(someMerges.replace(/.*ties.*\n/, ''));
    const { code, stdout, stderr } = await cli(['batch', file, '-o', out, '--json']);
    expect([code, stderr]).toEqual([0, '']);
    const events = eventsOf(stdout);
    const ofMerges = events.filter(({ event }) => event === 'merge');
    expect(ofMerges).toHaveLength(mergesOfFixture - 4);
    expect(events.map(({ event }) => event)).toContain('plan');
    const { cost } = events.find(({ event }) => event === 'plan') as { cost: Record<string, number> };
    expect(events.at(-1)).toMatchObject({
      event: 'done',
      failed: 0,
      bytesRead: cost['bytesToRead'],
      bytesWritten: cost['bytesDistinct'],
    });
    const record = recordIn(out);
    expect(record).toMatchObject({ state: 'done', cost, bytesWritten: cost['bytesDistinct'] });
    const sum = (key: string) =>
      record.merges.reduce((total: number, merge: Record<string, number>) => total + (merge[key] ?? 0), 0);
    expect([sum('bytesRead'), sum('bytesWritten')]).toEqual([cost['bytesToRead'], cost['bytesToWrite']]);
    expect(readdirSync(out).sort()).toEqual(['.layerloom-lock', '.store', 'experiment.json', 'swahili']);
  });

  it('prints the cost before it begins, and how it ended', async () => {
    const { file, out } = writeExperiment();
    const { code, stdout, stderr } = await cli(['batch', file, '-o', out]);
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /merges +25\n.*without sharing[\s\S]*distinct[\s\S]*to read[\s\S]*on the disk +\S+ .B needed, \S+ .B free/,
    );
    expect(stdout).toMatch(/^.*\/out\n25 of 25 merges, \S+ \S+ written and \S+ \S+ read in /);
  });

  it('makes every shard once for two processes on one store', async () => {
    const { root, file } = writeExperiment();
    const store = join(root, 'store');
    const runs = await Promise.all(
      ['a', 'b'].map((name) =>
        cli(['batch', file, '-o', join(root, name), '--store', store, '--json', '-j', '1']),
      ),
    );
    expect(runs.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ''],
      [0, ''],
    ]);
    const records = ['a', 'b'].map((name) => recordIn(join(root, name)));
    const written = records.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0);
    expect(written).toBe(records[0].cost.bytesDistinct);
    expect(contentsOf(join(root, 'a'), isLasting)).toEqual(contentsOf(join(root, 'b'), isLasting));
    expect(readdirSync(join(store, 'claims')).concat(readdirSync(join(store, 'partial')))).toEqual([]);
  });

  it('is made by parts at once, and finished by a last run', async () => {
    const { file, out } = writeExperiment();
    const parts = await Promise.all(
      [0, 1, 2].map((part) => cli(['batch', file, '-o', out, '--json', '-j', '1', '--part', `${part}/3`])),
    );
    expect(parts.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ''],
      [0, ''],
      [0, ''],
    ]);
    expect(existsSync(join(out, 'experiment.json'))).toBe(false);
    const { code, stdout } = await cli(['batch', file, '-o', out, '--json', '--resume']);
    const { cost, bytesWritten } = lastOf(stdout) as {
      cost: { bytesDistinct: number };
      bytesWritten: number;
    };
    expect([code, bytesWritten]).toEqual([0, 0]);
    const written = parts.map((part) => Number(lastOf(part.stdout)['bytesWritten']));
    expect(written.reduce((a, b) => a + b)).toBe(cost.bytesDistinct);
    expect(Math.min(...written)).toBeGreaterThan(0);
    expect(recordIn(out).state).toBe('done');
  });

  it('is made by parts one after the other: none takes what is another’s, and none is left out', async () => {
    const { file, out } = writeExperiment();
    const written: number[] = [];
    for (const part of [0, 1, 2]) {
      const { stdout } = await cli(['batch', file, '-o', out, '--json', '--part', `${part}/3`]);
      written.push(Number(lastOf(stdout)['bytesWritten']));
    }
    const { stdout } = await cli(['batch', file, '-o', out, '--json']);
    expect(lastOf(stdout)).toMatchObject({ bytesWritten: 0, failed: 0 });
    expect(Math.min(...written)).toBeGreaterThan(0);
  });

  it('stops at Ctrl-C, and goes on where it stopped', async ({ skip }) => {
    const { file, out } = writeExperiment();
    const child = startCli(['batch', file, '-o', out, '--json']);
    const onData = (chunk: Buffer) => {
      if (!chunk.includes('"event":"merge"')) return;
      // A second signal would end the process at once.
      child.stdout.off('data', onData);
      child.kill('SIGINT');
    };
    child.stdout.on('data', onData);
    const { code, stdout, stderr } = await finished(child);
    if (code === 0) return skip('the batch was done before the signal came');
    expect([code, stderr]).toEqual([
      130,
      `error: interrupted; complete merges stay; what is done waits in ${out} for --resume\n`,
    ]);
    expect(lastOf(stdout)).toMatchObject({ error: { code: 'INTERRUPTED' } });
    const { state, merges, bytesRead, bytesWritten } = recordIn(out);
    expect(state).toBe('incomplete');
    expect(merges.map((merge: { state: string }) => merge.state)).toContain('pending');
    expect(Math.min(bytesRead, bytesWritten)).toBeGreaterThan(0);
    expectTruthful(out);
    expect(readdirSync(join(out, '.store', 'claims'))).toEqual([]);
    expect(readdirSync(join(out, '.store', 'partial'))).toEqual([]);
    const again = await cli(['batch', file, '-o', out, '--resume', '--json']);
    expect([again.code, recordIn(out).state]).toEqual([0, 'done']);
    // On a slow disk possibly no shard was finished.
    expect(recordIn(out).bytesWritten).toBeLessThanOrEqual(recordIn(out).cost.bytesDistinct);
  });

  it('leaves alone what another experiment has made', async () => {
    const { root, file, out } = writeExperiment('  - {name: one, method: soup}');
    expect((await cli(['batch', file, '-o', out, '-q'])).code).toBe(0);
    const before = contentsOf(out);
    const other = join(root, 'other.yaml');
    writeFileSync(other, experimentText('  - {name: two, method: soup, weights: [[1, 2]]}'));
    expect(await cli(['batch', other, '-o', out])).toEqual({
      code: 2,
      stdout: '',
      stderr: `error: ${out} holds an experiment; choose another output, or --resume to make what is missing of this one\n`,
    });
    expect(contentsOf(out)).toEqual(before);
    expect((await cli(['batch', other, '-o', out, '--resume', '-q'])).code).toBe(0);
    expect(contentsOf(out)).toMatchObject(
      Object.fromEntries(Object.entries(before).filter(([path]) => path.startsWith('swahili/'))),
    );
  });

  it('is one at a time in a directory', async () => {
    const { file, out } = writeExperiment(undefined, { layers: 12, hidden: 64 });
    const child = startCli(['batch', file, '-o', out, '--json']);
    const ended = finished(child);
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const { code, stderr } = await cli(['batch', file, '-o', out, '--resume']);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/another layerloom is writing .*\/out/)]);
    expect((await ended).code).toBe(0);
  });

  it('goes on when a merge fails, says which, and ends with 4', async () => {
    const { file, out } = writeExperiment(
      '  - {name: swap, method: layer_swap, bottom: 2, top: 1}\n  - {name: soup, method: soup}',
    );
    const name = 'swahili/math-2+swh-1/soup';
    mkdirSync(join(out, name), { recursive: true });
    writeFileSync(join(out, name, 'notes.txt'), 'mine');
    const { code, stdout, stderr } = await cli(['batch', file, '-o', out, '--json']);
    expect([code, stderr]).toEqual([
      4,
      expect.stringMatching(/^error: 1 of 8 merges fail \(swahili\/math-2\+swh-1\/soup: .*notes\.txt/),
    ]);
    const events = eventsOf(stdout);
    expect(events.find(({ event }) => event === 'done')).toMatchObject({ failed: 1 });
    expect(events.at(-1)).toMatchObject({ error: { code: 'BATCH_INCOMPLETE' } });
    const { state, merges } = recordIn(out);
    expect(state).toBe('incomplete');
    expect(merges.filter((merge: { state: string }) => merge.state !== 'done')).toMatchObject([
      {
        name,
        state: 'failed',
        error: { code: 'OUTPUT_NOT_OURS', message: expect.stringContaining('notes.txt') },
      },
    ]);
    expectTruthful(out);
    rmSync(join(out, name, 'notes.txt'));
    expect((await cli(['batch', file, '-o', out, '--resume', '-q'])).code).toBe(0);
    expect(recordIn(out).state).toBe('done');
  });
});

describe('layerloom batch refuses, before any work,', () => {
  it.each([
    ['  - {name: a, method: layer_swap, botom: 3}', /experiment\.yaml:6:35: .*botom.*did you mean bottom\?/],
    ['  - {name: a, method: soup}\nstor: here', /experiment\.yaml:7:1: .*stor/],
    [
      '  - {name: a, method: soup}\n  - {name: A, method: soup}',
      /experiment\.yaml:7:12: A: the merge at .*:6:12 has the same name/,
    ],
  ])('%j', async (merges, message) => {
    const { file, out } = writeExperiment(merges);
    const { code, stderr } = await cli(['batch', file, '-o', out]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    expect(existsSync(out)).toBe(false);
  });

  it('an expert that is missing, or of another shape, and names the pair', async () => {
    const { root, file, out } = writeExperiment();
    rmSync(join(root, 'math-2'), { recursive: true });
    const missing = await cli(['batch', file, '-o', out, '--json']);
    expect(missing.stderr).toMatch(/^error: swahili\/math-2\+swh-1\/default: .*math-2/);
    expect([missing.code, existsSync(out)]).toEqual([3, false]);
    writeCheckpoint(join(root, 'math-2'), llama({ layers: 5, seed: 3 }));
    const odd = await cli(['batch', file, '-o', out]);
    expect(odd.stderr).toMatch(/^error: \d+ of \d+ merges fail \(swahili\/math-2\+swh-1\/default, .*layers/m);
    expect(odd.code).toBe(4);
    expect(existsSync(join(out, 'swahili/math-1+swh-1/default'))).toBe(true);
    expect(existsSync(join(out, 'swahili/math-2+swh-1/default'))).toBe(false);
    const shapes = { ...llamaShapes({ layers: 6 }), 'model.layers.3.mlp.down_proj.weight': [16, 41] };
    writeCheckpoint(join(root, 'math-2'), { ...llama({ layers: 6 }), tensors: fill(shapes, 'BF16', 3) });
    const wide = await cli(['batch', file, '-o', out, '--resume']);
    expect(wide.stderr).toMatch(
      /^error: \d+ of \d+ merges fail \(swahili\/math-2\+swh-1\/default, .*model\.layers\.3\.mlp\.down_proj/m,
    );
    expect(wide.code).toBe(4);
  });

  it('a directory that cannot be made or written', async ({ skip }) => {
    const { root, file } = writeExperiment();
    writeFileSync(join(root, 'file'), '');
    const under = await cli(['batch', file, '-o', join(root, 'file', 'out')]);
    expect([under.code, under.stderr]).toEqual([
      1,
      expect.stringMatching(/^error: .*\/file\/out cannot be written: /),
    ]);
    const disk = smallDisk('64k');
    if (disk === undefined) return skip(needsRoot);
    resize(disk, 'ro');
    const readOnly = await cli(['batch', file, '-o', join(disk, 'out')]);
    expect([readOnly.code, readOnly.stderr]).toEqual([
      1,
      expect.stringMatching(/^error: .*\/out cannot be written: .*EROFS/),
    ]);
  });

  it('a store on another file system, where links are to be hard', async ({ skip }) => {
    const { file, out } = writeExperiment();
    const disk = smallDisk('64m');
    if (disk === undefined) return skip(needsRoot);
    const store = join(disk, 'store');
    const { code, stderr } = await cli(['batch', file, '-o', out, '--store', store]);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/another file system than .*--link symbolic, or copy/),
    ]);
    expect(existsSync(out)).toBe(false);
    for (const link of ['symbolic', 'copy']) {
      const linked = await cli([
        'batch',
        file,
        '-o',
        `${out}-${link}`,
        '--store',
        store,
        '--link',
        link,
        '-q',
      ]);
      expect([linked.code, linked.stderr]).toEqual([0, '']);
    }
    const isShard = (path: string) => path.endsWith('.safetensors');
    expect(contentsOf(`${out}-symbolic`, isShard)).toEqual(contentsOf(`${out}-copy`, isShard));
  });
});

describe('a full disk', () => {
  it('stops a batch with what is finished intact, and lets it be resumed', async ({ skip }) => {
    const { file, out } = writeExperiment();
    const whole = `${out}-whole`;
    expect((await cli(['batch', file, '-o', whole, '-q'])).code).toBe(0);
    const disk = smallDisk('16k');
    if (disk === undefined) return skip(needsRoot);
    const onDisk = join(disk, 'out');
    const tooSmall = await cli(['batch', file, '-o', onDisk]);
    expect([tooSmall.code, tooSmall.stderr]).toEqual([
      1,
      expect.stringMatching(/needs \d+ bytes and its disk has \d+ free|cannot be written: .*ENOSPC/),
    ]);
    // Room for all shards but not for side files: the disk fills up during the run.
    const { bytesDistinct } = recordIn(whole).cost;
    resize(disk, `size=${Math.ceil(bytesDistinct * 1.2)}`);
    const full = await cli(['batch', file, '-o', onDisk, '--resume', '--json']);
    expect([full.code, full.stderr]).toEqual([
      1,
      expect.stringMatching(
        /cannot be written.*(ENOSPC|No space left).*; what is done waits in .* for --resume\n$/,
      ),
    ]);
    expect(lastOf(full.stdout)).toMatchObject({ error: { code: 'WRITE_FAILED' } });
    expect((await cli(['store', 'verify', join(onDisk, '.store')])).code).toBe(0);
    expectTruthful(onDisk);
    resize(disk, 'size=64m');
    const resumed = await cli(['batch', file, '-o', onDisk, '--resume', '-q']);
    expect([resumed.code, resumed.stderr]).toEqual([0, '']);
    expect(recordIn(onDisk).state).toBe('done');
    expect(contentsOf(onDisk, isLasting)).toEqual(contentsOf(whole, isLasting));
  });
});

describe('the store of a batch', () => {
  it('says which shard is damaged; the next run makes it and its links anew', async () => {
    const { file, out } = writeExperiment();
    expect((await cli(['batch', file, '-o', out, '-q'])).code).toBe(0);
    const before = contentsOf(out, isLasting);
    const store = join(out, '.store');
    const [damaged = ''] = Object.keys(contentsOf(store, (path) => path.endsWith('.safetensors')));
    const path = join(store, damaged);
    const bytes = readFileSync(path);
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    chmodSync(path, 0o644);
    writeFileSync(path, bytes);
    const { code, stdout } = await cli(['store', 'verify', store]);
    expect([code, stdout]).toEqual([3, expect.stringMatching(/1 damaged/)]);
    const again = await cli(['batch', file, '-o', out, '--resume', '--json']);
    expect([again.code, lastOf(again.stdout)]).toMatchObject([0, { cost: { shardsToWrite: 1 } }]);
    expect(contentsOf(out, isLasting)).toEqual(before);
    expect((await cli(['store', 'verify', store])).code).toBe(0);
  });

  it('loses what only removed merges needed', async () => {
    const { file, out } = writeExperiment();
    expect((await cli(['batch', file, '-o', out, '-q'])).code).toBe(0);
    const store = join(out, '.store');
    const listed = async () => JSON.parse((await cli(['store', 'ls', store, '--json'])).stdout).shards;
    const all = await listed();
    const gc = async () => JSON.parse((await cli(['store', 'gc', store, '--json'])).stdout);
    expect(await gc()).toMatchObject({ removed: [], kept: all.length });
    for (const name of readdirSync(join(out, 'swahili')))
      if (name.startsWith('math-2')) rmSync(join(out, 'swahili', name), { recursive: true });
    const { removed, kept } = await gc();
    expect(removed.length).toBeGreaterThan(0);
    expect(await listed()).toHaveLength(kept);
    for (const { key } of removed)
      expect(existsSync(join(store, 'shards', key.slice(0, 2), `${key}.safetensors`))).toBe(false);
    // Remaining merges are whole, and removed ones are made again on request.
    const again = await cli(['batch', file, '-o', out, '--resume', '--json']);
    expect([again.code, lastOf(again.stdout)]).toMatchObject([
      0,
      { cost: { shardsToWrite: removed.length } },
    ]);
    expect(await listed()).toHaveLength(all.length);
    expect(statSync(join(out, 'experiment.json')).isFile()).toBe(true);
  });
});
