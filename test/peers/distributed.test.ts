import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { diff, openCheckpoint, relayout } from '../../src/index.js';
import { weightsIn } from '../fixtures/contents.js';

const { LAYERLOOM_PYTHON: python } = process.env;

const script = fileURLToPath(new URL('distributed.py', import.meta.url));
const root = mkdtempSync(join(tmpdir(), 'layerloom-distributed-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const processes = 'torch.distributed.run --standalone --nproc-per-node'.split(' ');

describe.skipIf(!python)('checkpoints of torch.distributed.checkpoint (LAYERLOOM_PYTHON)', () => {
  it.each([1, 2, 4])(
    'by %i processes are the models whose state is in safetensors',
    async (count) => {
      const folder = join(root, String(count));
      mkdirSync(folder);
      const args = ['-W', 'ignore', '-m', ...processes, String(count), script, folder];
      await promisify(execFile)(python ?? '', args, { maxBuffer: 2 ** 26 });
      const saved = readdirSync(folder).filter((name) => name !== 'parts' && !name.endsWith('.plain'));
      // Four dtypes in three or four cuts, FSDP2, tensor parallelism, and joined parts.
      expect(saved.length).toBe(count === 4 ? 19 : 15);
      for (const name of saved) {
        const [run, plain] = [join(folder, name), join(folder, `${name}.plain`)];
        expect([name, (await diff(run, plain)).equal]).toEqual([name, true]);
        const [one, other] = [join(folder, 'out', name), join(folder, 'out', `${name}.plain`)];
        await relayout({ model: run }, { out: one });
        await relayout({ model: plain }, { out: other });
        expect([name, weightsIn(one).equals(weightsIn(other))]).toEqual([name, true]);
      }
      await expect(openCheckpoint(join(folder, 'parts'))).rejects.toThrow(/hold parts of tensors/);
      for (const file of readdirSync(join(folder, 'parts')))
        await expect(openCheckpoint(join(folder, 'parts', file))).rejects.toMatchObject({
          code: 'WEIGHTS_UNSUPPORTED',
        });
    },
    600_000,
  );
});
