// @ts-check
// Says which addons a package would ship, before it is packed. With --all, as for `npm publish`, every target's must be
// there and fit: the host's own build, which needs this machine's glibc, is none to ship. A complete set is recorded in
// prebuilds/SHA256SUMS, by which `layerloom doctor` tells a shipped addon from one that was built later.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { elfProblem } from '../dist/native/elf.js';
import {
  addonFile,
  checksumsFile,
  oldestGlibc,
  packageRoot,
  shippedTargets,
} from '../dist/native/prebuilt.js';

/** @param {string} a @param {string} b versions of two numbers */
const compare = (a, b) => a.localeCompare(b, 'en', { numeric: true });

/** The reason why a target's addon cannot be shipped, or undefined. @param {string} target */
const problemOf = (target) => {
  const file = addonFile(target);
  if (!existsSync(file)) return 'missing';
  const [platform, arch = '', libc] = target.split('-');
  if (platform !== 'linux') return undefined;
  const problem = elfProblem(file, arch);
  if (problem !== undefined) return problem;
  const needed = [...readFileSync(file, 'latin1').matchAll(/\bGLIBC_(\d+\.\d+)/g)].map(
    ([, version = '']) => version,
  );
  if (libc === 'musl') return needed.length > 0 ? 'is for glibc' : undefined;
  const tooNew = needed.filter((version) => compare(version, oldestGlibc) > 0).sort(compare);
  return tooNew.length > 0 ? `needs glibc ${tooNew.at(-1)}, built on this machine` : undefined;
};

const problems = shippedTargets.flatMap((target) => {
  const problem = problemOf(target);
  return problem === undefined ? [] : [{ target, problem }];
});
const sums = checksumsFile();

if (problems.length === 0) {
  const lines = shippedTargets.map((target) => {
    const hash = createHash('sha256')
      .update(readFileSync(addonFile(target)))
      .digest('hex');
    return `${hash}  ${join(target, 'layerloom.node')}\n`;
  });
  writeFileSync(sums, lines.join(''));
  console.error(
    `prebuilt addons in this package: all ${shippedTargets.length} (${shippedTargets.join(', ')})`,
  );
} else {
  rmSync(sums, { force: true });
  const shown = problems.map(({ target, problem }) => `${target} ${problem}`).join('; ');
  if (process.argv.includes('--all')) {
    console.error(
      `error: a release has the addon of every target: ${shown}; run \`npm run prebuild\` in ${packageRoot}`,
    );
    process.exit(1);
  }
  console.error(
    `not a package for release: of ${shippedTargets.length} prebuilt addons, ${shown} (\`npm run prebuild\` makes them)`,
  );
}
