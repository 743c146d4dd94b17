import { defineConfig } from 'vitest/config';
import { common } from '../../vitest.config.js';

// Exhaustive sweeps: minutes of work that few changes can break. `.ci/run` runs them after `npm cit`.
export default defineConfig({
  ...common,
  test: { ...common.test, include: ['test/sweeps/**/*.test.ts'], testTimeout: 600_000 },
});
