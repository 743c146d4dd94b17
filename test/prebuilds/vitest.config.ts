import { defineConfig } from 'vitest/config';

// The addons as they ship (docs/prebuilds.md), each in a Node of its platform, emulated where need be: minutes.
export default defineConfig({
  test: {
    include: ['test/prebuilds/**/*.test.ts'],
    maxWorkers: 1,
    testTimeout: 900_000,
    hookTimeout: 900_000,
  },
});
