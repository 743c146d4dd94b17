import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/peers/**', 'test/aborts/**'],
    // Merges are limited by the disk, and a loaded machine is slow: a limit is for what hangs.
    testTimeout: 300_000,
    hookTimeout: 60_000,
  },
});
