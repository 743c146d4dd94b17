import { defineConfig } from 'vitest/config';

// The addons as shipped (docs/prebuilds.md), each in its platform's Node, emulated if necessary: takes
// minutes.
export default defineConfig({
  test: {
    include: ['test/prebuilds/**/*.test.ts'],
    maxWorkers: 1,
    testTimeout: 900_000,
    hookTimeout: 900_000,
  },
});
