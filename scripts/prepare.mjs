// @ts-check
// Builds what a clone lacks: `dist`, and this machine's addon. npm, pnpm and yarn run it after installing a
// clone's dependencies, hence before packing a git dependency. Skips existing files; `npm run build` rebuilds
// them.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** @param {string} reason */
const fail = (reason) => {
  console.error(`error: ${reason}`);
  console.error(
    'Nothing needs to be built for an installation from a tarball of layerloom (docs/install.md).',
  );
  process.exit(1);
};

/** @param {string} script one of package.json */
const run = (script) => {
  const { status, error } = spawnSync('npm', ['run', script], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0)
    fail(
      `layerloom's \`npm run ${script}\` failed${error === undefined ? ', see above' : `: ${error.message}`}`,
    );
};

// `npm cit` and `npm it` run the tests next, and these build everything first.
const testsFollow = ['install-ci-test', 'install-test'].includes(process.env['npm_command'] ?? '');

if (!testsFollow) {
  if (!existsSync(`${root}dist/index.js`)) run('build:ts');
  const { addonFile, currentHost, targetOf } = await import('../dist/core/native/prebuilt.js');
  const { checkBuildTools } = await import('../dist/core/native/build-tools.js');
  try {
    if (!existsSync(addonFile(targetOf(currentHost())))) {
      checkBuildTools();
      run('build:native');
    }
  } catch (error) {
    fail(error instanceof Error ? error.message : String(error));
  }
}
