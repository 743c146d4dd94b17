import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vitest/config';

const root = fileURLToPath(new URL('.', import.meta.url));

/** Tests import `src/` and are checked against its types; what runs is the compiled `dist/`, as where it is installed. */
const compiled: Plugin = {
  name: 'compiled',
  enforce: 'pre',
  resolveId(imported, importer) {
    if (importer === undefined || !imported.startsWith('.')) return undefined;
    const file = relative(join(root, 'src'), resolve(dirname(importer), imported));
    return file.startsWith('..') ? undefined : join(root, 'dist', file);
  },
};

/** What all runs of vitest have in common, those with a configuration of their own too. */
export const common = {
  plugins: [compiled],
  test: {
    globalSetup: [join(root, 'test/fixtures/fresh-build.ts')],
    // Node itself loads what is compiled, which is several times as fast as through Vite.
    server: { deps: { external: [/\/dist\//] } },
    // Commands keep their compiled code and their state there, and nothing in the user's own folders.
    env: {
      XDG_CACHE_HOME: join(tmpdir(), 'layerloom-tests-cache'),
      XDG_STATE_HOME: join(tmpdir(), 'layerloom-tests-state'),
    },
    hookTimeout: 60_000,
  },
};

const tests = ['test/**/*.test.ts'];
/** These need other programs, a network or hours, and have configurations of their own. */
const apart = ['test/peers/**', 'test/aborts/**', 'test/install/**', 'test/prebuilds/**'];

/** Long searches, and the pages carried out: minutes of work that few changes can break. `.ci/run` runs them after the others. */
const sweeps = ['test/sweeps/**/*.test.ts', 'test/docs/fences.test.ts'];

/** These leave nothing behind in their process, and share it: each module is loaded once. */
const unit = ['architecture', 'methods', 'operations', 'recipe', 'scores', 'tensor', 'tokenizer'].map(
  (folder) => `test/${folder}/**/*.test.ts`,
);

/** Files that put modules in the place of others, or load modules anew: only Vite can do that. */
const mocking = [
  'test/checkpoint/small-file.test.ts',
  'test/engine/durable.test.ts',
  'test/engine/link.test.ts',
  'test/engine/run-plan.test.ts',
  'test/engine/shard-files.test.ts',
  'test/store/claims.test.ts',
  'test/store/gc.test.ts',
  'test/store/store.test.ts',
];

export default defineConfig({
  ...common,
  test: {
    ...common.test,
    // Tests wait for disks and processes more than they compute: one file for each core.
    maxWorkers: '100%',
    // Ten times what most tests take; files of batches and of large merges say more.
    testTimeout: 30_000,
    projects: [
      { extends: true, test: { name: 'unit', include: unit, isolate: false } },
      {
        extends: true,
        test: { name: 'integration', include: tests, exclude: [...apart, ...sweeps, ...mocking, ...unit] },
      },
      {
        extends: true,
        test: { name: 'mocking', include: mocking, server: { deps: { inline: [/\/dist\//] } } },
      },
      { extends: true, test: { name: 'sweeps', include: sweeps, testTimeout: 600_000 } },
    ],
  },
});
