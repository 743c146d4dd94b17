import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/peers/**', 'test/aborts/**', 'test/sweeps/**', 'test/install/**', 'test/prebuilds/**'],
    // Commands keep their compiled code and their state there, and nothing in the user's own folders.
    env: {
      XDG_CACHE_HOME: join(tmpdir(), 'layerloom-tests-cache'),
      XDG_STATE_HOME: join(tmpdir(), 'layerloom-tests-state'),
    },
    // Tests wait for disks and processes more than they compute: one file for each core.
    maxWorkers: '100%',
    // Ten times what most tests take; files of batches and of large merges say more.
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
