import { statfsSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vitest/config';
import { LongFirst } from './test/fixtures/long-first.js';

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

const memory = '/dev/shm';
/** Bytes that temporary directories of tests have at once, several times over. */
const room = 4e9;

/** Where temporary directories of tests are: in memory where it has room, since they sync and remove thousands of files. */
const temporary = (): string => {
  try {
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize > room ? memory : tmpdir();
  } catch {
    return tmpdir();
  }
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
      // For tests that need another file system than that of temporary directories.
      LAYERLOOM_TESTS_DISK: tmpdir(),
      XDG_CACHE_HOME: join(tmpdir(), 'layerloom-tests-cache'),
      XDG_STATE_HOME: join(tmpdir(), 'layerloom-tests-state'),
    },
    hookTimeout: 60_000,
  },
};

/** These need other programs, a network or hours, and have configurations of their own. */
const apart = [
  'aborts',
  'frames',
  'install',
  'notebooks',
  'peers',
  'prebuilds',
  'release',
  'study',
  'wheels',
].map((name) => `test/${name}/**`);

/**
 * Whole programs: commands, harnesses, servers, browsers, training runs. `.ci/run` runs them after `npm cit`. Files outside
 * these folders are here because they take long.
 */
const system = [
  // `command-line` stays with the unit tests, so that a broken door is seen within minutes.
  'test/cli/!(command-line).test.ts',
  'test/{bundle,conversion,evaluation,experiment,faults,hostile,hub,report,rescoring,schedulers,search,training}/**/*.test.ts',
  'test/{errors,other-user,package,site,verify}.test.ts',
  'test/adapter/patterns.test.ts',
  'test/attestation/{batch,chain,tampered}.test.ts',
  'test/analysis/{analyze,base-concerns,thresholds}.test.ts',
  'test/checkpoint/{deepspeed,distributed,distributed-methods,torch,torch-refusals}.test.ts',
  'test/comparison/diff.test.ts',
  'test/doctor/examine.test.ts',
  'test/engine/{aborts,guessed-bounds,inputs,link,low-rank,stopped-runs}.test.ts',
  'test/examples/demo.test.ts',
  'test/experts/forms.test.ts',
  'test/extraction/extract-lora.test.ts',
  'test/methods/{by-singular-values,mixture,nested,regmean,revert,threshold-that-keeps,transplant}.test.ts',
  'test/native/{fuzz,guard,kernels,prebuilt}.test.ts',
  'test/operations/select-magnitudes.test.ts',
  'test/partition/formats.test.ts',
  'test/plan/{adapter-methods,check-plan,export-recipe,vocabulary}.test.ts',
  'test/quantisation/quantising.test.ts',
  'test/scores/{bases,conclusion,equivalence,invariance,tables}.test.ts',
  'test/texts/strangers.test.ts',
  'test/verification/{action,additions,against,tolerance}.test.ts',
];

/** All cases of what unit tests sample, kills, and hostile servers: `.ci/run` runs them too. */
const sweeps = [
  'test/sweeps/**/*.test.ts',
  'test/engine/random.test.ts',
  'test/hostile/planted-secrets.test.ts',
  'test/hub/{faults,hostile,lost-records,push-hostile,unverified}.test.ts',
  'test/methods/{mixed-dtypes,references}.test.ts',
];

/** A minute or more each: `npm run test:nightly`. */
const nightly = [
  'test/architecture/merges.test.ts',
  'test/checkpoint/gguf.test.ts',
  'test/cli/batch-runs.test.ts',
  'test/docs/fences.test.ts',
  'test/evaluation/{exchanging-server,in-place,kept-harness,moved,scoring-order}.test.ts',
  'test/experiment/{kill,preset-runs}.test.ts',
  'test/hostile/{growth,secrets}.test.ts',
  'test/hub/download.test.ts',
  'test/methods/non-finite.test.ts',
  'test/quantisation/merge.test.ts',
  'test/search/halving.test.ts',
  'test/sweeps/{again,build,coverage,distributed-files,exchange-faults,invariance,neon,search,torch-files}.test.ts',
  'test/training/{printed-merges,train-script}.test.ts',
];

/** Files that put modules in the place of others, or load modules anew, which only Vite can do, or that leave something behind: methods that they register. */
const alone = [
  'test/checkpoint/small-file.test.ts',
  'test/engine/durable.test.ts',
  'test/engine/exchange.test.ts',
  'test/engine/shard-files.test.ts',
  'test/examples/custom-method.test.ts',
  'test/methods/rules.test.ts',
  'test/plan/model-card.test.ts',
  'test/store/claims.test.ts',
  'test/store/gc.test.ts',
  'test/store/store.test.ts',
];

const env = {
  TMPDIR: temporary(),
  // Where it is set, each process that a test starts reads these certificates first: 70 ms. No test needs them.
  NODE_EXTRA_CA_CERTS: '',
};

export default defineConfig({
  ...common,
  test: {
    ...common.test,
    // Tests wait for processes and servers as long as they compute.
    maxWorkers: Math.ceil(1.5 * availableParallelism()),
    // Twenty times what most tests take; files of batches and of large merges say more.
    testTimeout: 60_000,
    sequence: { sequencer: LongFirst },
    projects: [
      {
        extends: true,
        // These leave nothing behind in their process, and share it: each module is loaded once.
        test: {
          name: 'unit',
          env,
          isolate: false,
          include: ['test/**/*.test.ts'],
          exclude: [...apart, ...system, ...sweeps, ...nightly, ...alone],
        },
      },
      {
        extends: true,
        test: { name: 'alone', env, include: alone, server: { deps: { inline: [/\/dist\//] } } },
      },
      {
        extends: true,
        test: {
          name: 'system',
          env,
          isolate: false,
          include: system,
          exclude: [...sweeps, ...nightly],
          testTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: { name: 'sweeps', env, include: sweeps, exclude: nightly, testTimeout: 600_000 },
      },
      {
        extends: true,
        test: {
          name: 'nightly',
          env: { ...env, LAYERLOOM_SWEEP: 'whole' },
          // The last five try more in this project than by day.
          include: [
            ...nightly,
            'test/bundle/hostile.test.ts',
            'test/faults/faults.test.ts',
            'test/hostile/planted-secrets.test.ts',
            'test/sweeps/same-bits.test.ts',
            'test/verification/additions.test.ts',
          ],
          testTimeout: 600_000,
        },
      },
    ],
  },
});
