import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { describeTimes } from '../../src/cli/text/studies/batch-text.js';
import { planExperiment, runExperiment } from '../../src/index.js';
import { cli } from '../fixtures/cli.js';
import { recordIn, writeExperiment } from '../fixtures/experiment.js';

vi.setConfig({ testTimeout: 180_000 });

const merges = '\n  - {name: default, method: layer_swap, bottom: 2, top: 1}\n';

describe('the time and room that an experiment takes', () => {
  it('are not guessed before anything is measured', async () => {
    const { file, out } = writeExperiment(merges);
    const { merging, disk, cost } = await planExperiment(file, { out });
    expect(merging).toBeNull();
    expect(disk).toEqual({ shards: cost.bytesToWrite, needed: cost.bytesToWrite, free: expect.any(Number) });
    expect(describeTimes(merging, null, out)).toMatch(/^time to merge: unknown until a first run/);
    expect(existsSync(out)).toBe(false);
  });

  it('follow from an earlier run over the same store, and from the shards that it left', async () => {
    const { root, file, out } = writeExperiment(merges);
    const store = join(root, 'store');
    await runExperiment(file, { out, store });
    const record = recordIn(out);
    const measured = { bytesWritten: 4e6, bytesRead: 2e6, seconds: 8 };
    writeFileSync(join(out, 'experiment.json'), JSON.stringify({ ...record, ...measured }));
    const there = await planExperiment(file, { out: join(root, 'again'), store });
    expect(there.disk.needed).toBe(0);
    expect(there.merging).toEqual({ seconds: 0, by: { directory: out, ...measured } });
    writeFileSync(file, readFileSync(file, 'utf8').replace('bottom: 2', 'bottom: [2, 3]'));
    const more = await planExperiment(file, { out: join(root, 'again'), store });
    expect(more.disk.needed).toBeGreaterThan(0);
    expect(more.disk.needed).toBeLessThan(more.cost.bytesToWrite);
    // 2 s for each MB that is still to be written.
    expect(more.merging?.seconds).toBeCloseTo((2 * more.disk.needed) / 1e6, 6);
    const copies = await planExperiment(file, { out: join(root, 'again'), store, link: 'copy' });
    expect(copies.disk.needed).toBe(more.disk.needed + more.cost.bytesPlain);
  });

  it('leave out a record that is half written', async () => {
    const { file, out } = writeExperiment(merges);
    await runExperiment(file, { out });
    writeFileSync(
      join(out, 'experiment.json'),
      readFileSync(join(out, 'experiment.json'), 'utf8').slice(0, 99),
    );
    expect((await planExperiment(file, { out, resume: true })).merging).toBeNull();
  });

  it('are said of scores too, by results of the directory', async () => {
    const { file, out } = writeExperiment(merges);
    writeFileSync(
      file,
      `${readFileSync(file, 'utf8')}\nevaluate: {tasks: {swahili: stub_perplexity}, limit: 8}\n`,
    );
    const { stdout } = await cli(['batch', file, '-o', out, '--dry-run', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      disk: { needed: expect.any(Number), free: expect.any(Number) },
      time: { merging: null, scoring: { seconds: null, tasks: [{ models: 9, problems: 72 }] } },
    });
  });
});
