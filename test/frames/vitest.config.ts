import { defineConfig } from 'vitest/config';
import { common } from '../../vitest.config.js';

export default defineConfig({
  ...common,
  test: {
    ...common.test,
    globalSetup: [...common.test.globalSetup, 'test/frames/frames.ts'],
    include: ['test/frames/**/*.test.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
