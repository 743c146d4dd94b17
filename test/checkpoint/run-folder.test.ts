import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listCheckpoints } from '../../src/core/models/checkpoint/files/run-folder.js';
import { openCheckpoint } from '../../src/index.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { writeOthers, writeRun } from '../fixtures/runs.js';

describe('the checkpoints of a run', () => {
  it('are its checkpoint-N folders by number, links among them, broken ones too, and nothing else that lies there', async () => {
    const root = temporaryDirectory();
    const run = join(root, 'run');
    writeRun(run, [1000, 20, 300]);
    writeOthers(run);
    symlinkSync(join(run, 'checkpoint-20'), join(run, 'checkpoint-100'));
    symlinkSync(join(run, 'nowhere'), join(run, 'checkpoint-500'));
    expect(await listCheckpoints(run)).toEqual(
      [20, 100, 300, 500, 1000].map((step) => ({ step, folder: `checkpoint-${step}` })),
    );
    expect(await listCheckpoints(join(run, 'config.json'))).toEqual([]);
  });

  it('are named where their folder is taken for a model', async () => {
    const run = join(temporaryDirectory(), 'run');
    writeRun(run, [100]);
    await expect(openCheckpoint(run)).rejects.toMatchObject({
      code: 'NOT_A_CHECKPOINT',
      message: expect.stringContaining(
        'it holds the checkpoints of a run; give one of them, such as checkpoint-100',
      ),
    });
  });
});
