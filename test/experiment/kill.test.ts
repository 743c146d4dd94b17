import { existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { cli, startCli } from '../fixtures/cli.js';
import { contentsOf, isLasting, manyMerges, recordIn, writeExperiment } from '../fixtures/experiment.js';
import { generator } from '../fixtures/numbers.js';

// Slow disks.
vi.setConfig({ testTimeout: 180_000 });

describe('a batch that is killed', () => {
  it('comes to the same bytes when it is resumed, and leaves nothing behind', async () => {
    const { root, file, out } = writeExperiment(manyMerges);
    const whole = `${root}/whole`;
    const began = performance.now();
    expect((await cli(['batch', file, '-o', whole, '-q'])).code).toBe(0);
    const longest = performance.now() - began;
    const random = generator(7);
    let kills = 0;
    // A run that ends before it is killed counts too and leaves less to do.
    for (let run = 0; run < 4; run += 1) {
      const child = startCli(['batch', file, '-o', out, '--resume', '-q']);
      const ended = new Promise((resolve) => child.on('close', resolve));
      await setTimeout(longest * (0.2 + 0.6 * random()));
      if (child.kill('SIGKILL')) kills += 1;
      await ended;
      // At any moment experiment.json is whole, and the merges that it calls done exist.
      if (existsSync(`${out}/experiment.json`))
        for (const { path, state } of recordIn(out).merges)
          if (state === 'done') expect(existsSync(`${out}/${path}/layerloom.json`)).toBe(true);
    }
    expect(kills).toBeGreaterThan(0);
    expect((await cli(['batch', file, '-o', out, '--resume', '-q'])).code).toBe(0);
    expect(contentsOf(out, isLasting)).toEqual(contentsOf(whole, isLasting));
    expect(recordIn(out)).toMatchObject({ state: 'done', merges: { length: 4 * 13 + 1 } });
  });
});
