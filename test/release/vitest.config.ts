import { defineConfig } from 'vitest/config';

// Publishes the package and its wheel to local registries, as .github/workflows/release.yml does; needs a network.
export default defineConfig({
  test: {
    include: ['test/release/**/*.test.ts'],
    globalSetup: ['test/install/registry.ts', 'test/release/python-index.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
