import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { diff, openCheckpoint, relayout } from '../../src/index.js';
import { weightsIn } from '../fixtures/contents.js';

const { LAYERLOOM_DEEPSPEED_PYTHON: python = '', TORCH_EXTENSIONS_DIR: built } = process.env;

const script = fileURLToPath(new URL('deepspeed.py', import.meta.url));
const root = mkdtempSync(join(tmpdir(), 'layerloom-deepspeed-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const run = (args: readonly string[]) =>
  promisify(execFile)(python, ['-W', 'ignore', ...args], {
    maxBuffer: 2 ** 26,
    // DeepSpeed builds an extension there; a lock that a killed run left would block it.
    env: { ...process.env, OMP_NUM_THREADS: '1', TORCH_EXTENSIONS_DIR: built ?? join(root, 'extensions') },
  });

describe.skipIf(python === '')('checkpoints of DeepSpeed (LAYERLOOM_DEEPSPEED_PYTHON)', () => {
  it.each([1, 2, 3])(
    'by %i ranks are what zero_to_fp32 gathers',
    async (count) => {
      const folder = join(root, String(count));
      mkdirSync(folder);
      const processes = ['-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', String(count)];
      await run([...processes, script, 'save', folder]);
      await run([script, 'gather', folder]);
      const saved = readdirSync(folder).filter((name) => !name.endsWith('.plain'));
      expect(saved.length).toBe(7);
      for (const name of saved) {
        const [model, plain] = [join(folder, name), join(folder, `${name}.plain`)];
        expect([name, (await diff(model, plain)).equal]).toEqual([name, true]);
        const [one, other] = [join(folder, 'out', name), join(folder, 'out', `${name}.plain`)];
        await relayout({ model }, { out: one });
        await relayout({ model: plain }, { out: other });
        expect([name, weightsIn(one).equals(weightsIn(other))]).toEqual([name, true]);
        const step = join(model, 'global_step2');
        for (const file of readdirSync(step)) {
          rmSync(join(step, file));
          await expect(openCheckpoint(model), `${name} without ${file}`).rejects.toMatchObject({
            code: 'NOT_A_CHECKPOINT',
            message: expect.stringMatching(/lacks|no weights/),
          });
        }
      }
    },
    900_000,
  );
});
