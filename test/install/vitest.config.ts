import { defineConfig } from 'vitest/config';

// Installs the package with npm, pnpm and yarn from a local registry: takes minutes and a network.
export default defineConfig({
  test: {
    include: ['test/install/**/*.test.ts'],
    globalSetup: ['test/install/registry.ts'],
    testTimeout: 300_000,
    hookTimeout: 600_000,
  },
});
