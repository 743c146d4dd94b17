// @ts-check Makes the tarball to release by `npm pack`, without the fields of package.json that only the
// repository needs. If the manifest had `prepare`, npm would ask users to approve an install script, though
// none would run.
//
// npm run package [-- DIRECTORY]
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const destination = resolve(process.argv[2] ?? root);
const work = mkdtempSync(join(tmpdir(), 'layerloom-package-'));

/** @param {string} directory @param {string} to @returns {string} the tarball's name */
const pack = (directory, to) => {
  const said = execFileSync('npm', ['pack', '--json', '--pack-destination', to], {
    cwd: directory,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  // Scripts of the package print before the JSON.
  const [packed] = JSON.parse(said.slice(said.lastIndexOf('\n[\n') + 1));
  return packed.filename;
};

try {
  const whole = pack(root, work);
  execFileSync('tar', ['-xzf', join(work, whole), '-C', work]);
  const manifest = join(work, 'package', 'package.json');
  const {
    scripts: _,
    devDependencies: __,
    gypfile: ___,
    ...kept
  } = JSON.parse(readFileSync(manifest, 'utf8'));
  writeFileSync(manifest, `${JSON.stringify(kept, null, 2)}\n`);
  const file = join(destination, pack(join(work, 'package'), destination));
  console.log(`${file}: ${(statSync(file).size / 1e6).toFixed(2)} MB`);
  // The checksums exist only for a complete set, as scripts/check-prebuilds.mjs has explained.
  if (!existsSync(join(work, 'package', 'prebuilds', 'SHA256SUMS')))
    console.log(
      'for this machine only: not every addon that a release ships is in it; `npm run prebuild -- all` makes them',
    );
} finally {
  rmSync(work, { recursive: true });
}
