import { defineConfig } from 'vitest/config';
import { common } from '../../vitest.config.js';

export default defineConfig({
  ...common,
  test: {
    ...common.test,
    include: ['test/aborts/**/*.test.ts'],
    testTimeout: 3_600_000,
    hookTimeout: 600_000,
  },
});
