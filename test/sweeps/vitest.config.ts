import { defineConfig } from 'vitest/config';

// Exhaustive sweeps: minutes of work that few changes can break. `.ci/run` runs them after `npm cit`.
export default defineConfig({
  test: { include: ['test/sweeps/**/*.test.ts'], testTimeout: 600_000, hookTimeout: 60_000 },
});
