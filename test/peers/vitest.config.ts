import { defineConfig } from 'vitest/config';
import { common } from '../../vitest.config.js';

export default defineConfig({
  ...common,
  test: { ...common.test, include: ['test/peers/**/*.test.ts'], testTimeout: 600_000, hookTimeout: 600_000 },
});
