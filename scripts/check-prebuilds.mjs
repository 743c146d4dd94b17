// @ts-check
// Lists the addons that a package would ship. With --all, as for `npm publish`, every target's must exist and
// fit. Records a complete set in prebuilds/SHA256SUMS, by which `layerloom doctor` recognises shipped addons.
import { rmSync, writeFileSync } from 'node:fs';
import { packageRoot } from '../dist/core/base/files/shipped.js';
import { checksumsFile, shippedTargets } from '../dist/core/native/prebuilt.js';
import { checksumLine, problemOf } from './prebuilds/shippable.mjs';

const problems = shippedTargets.flatMap((target) => {
  const problem = problemOf(target);
  return problem === undefined ? [] : [{ target, problem }];
});
const sums = checksumsFile();

if (problems.length === 0) {
  writeFileSync(sums, shippedTargets.map(checksumLine).join(''));
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
