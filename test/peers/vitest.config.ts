import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: { include: ['test/peers/**/*.test.ts'], testTimeout: 600_000, hookTimeout: 600_000 },
});
