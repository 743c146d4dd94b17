import { defineConfig } from 'vitest/config';
import { common } from '../../vitest.config.js';

export default defineConfig({
  ...common,
  test: {
    ...common.test,
    include: ['test/notebooks/**/*.test.ts'],
    testTimeout: 1_200_000,
  },
});
