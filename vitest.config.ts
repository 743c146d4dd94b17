import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/peers/**', 'test/aborts/**', 'test/sweeps/**', 'test/install/**', 'test/prebuilds/**'],
    // Tests wait for disks and processes more than they compute: one file for each core.
    maxWorkers: '100%',
    // Ten times what most tests take; files of batches and of large merges say more.
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
