import { defineConfig } from 'vitest/config';
import { common } from '../../vitest.config.js';

export default defineConfig({
  ...common,
  test: {
    ...common.test,
    include: ['test/study/**/*.test.ts'],
    testTimeout: 7_200_000,
    hookTimeout: 600_000,
  },
});
