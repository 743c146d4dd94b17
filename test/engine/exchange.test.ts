import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { layerSwap, soup } from '../../src/api/merge.js';
import { writePair } from '../fixtures/checkpoints.js';
import { writeLaidOut } from '../fixtures/laid-out.js';
import { counts, expectSwap } from '../fixtures/swapped.js';

// Slow disks.
vi.setConfig({ testTimeout: 180_000 });

describe('the output', () => {
  it('with force is replaced also where the file system has no exchange', async () => {
    const { root, task, language, tensors } = writePair();
    vi.resetModules();
    vi.doMock('../../src/core/native/addon.js', async (original) => ({
      ...(await original<typeof import('../../src/core/native/addon.js')>()),
      exchange: () => false,
    }));
    onTestFinished(() => {
      vi.doUnmock('../../src/core/native/addon.js');
      vi.resetModules();
    });
    const without = await import('../../src/api/merge.js');
    const out = join(root, 'out');
    await without.soup({ models: [task, language] }, { out });
    await without.layerSwap({ task, language, ...counts }, { out, force: true });
    await expectSwap(out, tensors, counts);
    expect(readdirSync(root).sort()).toEqual(['language', 'out', 'task']);
  });

  it('is not continued from the former checkpoint, where a run was killed just after the exchange', async () => {
    const { root, task, language, tensors } = writePair();
    const out = join(root, 'out');
    await soup({ models: [task, language] }, { out });
    vi.resetModules();
    const addon = await vi.importActual<typeof import('../../src/core/native/addon.js')>(
      '../../src/core/native/addon.js',
    );
    vi.doMock('../../src/core/native/addon.js', () => ({
      ...addon,
      exchange: (a: string, b: string) => {
        addon.exchange(a, b);
        throw new Error('killed');
      },
    }));
    onTestFinished(() => {
      vi.doUnmock('../../src/core/native/addon.js');
      vi.resetModules();
    });
    const killed = await import('../../src/api/merge.js');
    const options = { out, force: true, resume: true };
    await expect(killed.layerSwap({ task, language, ...counts }, options)).rejects.toThrow('killed');
    await expectSwap(out, tensors, counts);
    await layerSwap({ task, language, ...counts }, options);
    await expectSwap(out, tensors, counts);
  });
});

it('a merge says so when links are refused, and names what else there is', async () => {
  const { root, task, language } = await writeLaidOut();
  vi.doMock('node:fs/promises', async (original) => ({
    ...(await original<typeof import('node:fs/promises')>()),
    link: () =>
      Promise.reject(Object.assign(new Error('EPERM: operation not permitted, link'), { code: 'EPERM' })),
  }));
  onTestFinished(() => {
    vi.doUnmock('node:fs/promises');
    vi.resetModules();
  });
  vi.resetModules();
  const mocked = await import('../../src/api/merge.js');
  const merge = mocked.layerSwap(
    { task, language, bottom: 2, top: 1 },
    { out: join(root, 'out'), link: 'hard' },
  );
  await expect(merge).rejects.toThrow(/does not permit it.*`link: 'symbolic'`/);
});
