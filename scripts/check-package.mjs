// @ts-check
// Checks a tarball's manifest and types with publint and attw, and dependencies with `npm audit`. Needs the
// registry.
//
//   npm run check:package [-- TARBALL]
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

const work = mkdtempSync(`${tmpdir()}/layerloom-check-`);
const pack = fileURLToPath(new URL('package.mjs', import.meta.url));
const tarball =
  process.argv[2] ?? execFileSync(process.execPath, [pack, work], { encoding: 'utf8' }).split(': ')[0] ?? '';

const checks = [
  ['npx', '--yes', 'publint@0.3', 'run', tarball, '--strict'],
  // The package is an ES module; `require` loads it in Node from 20.19 on.
  ['npx', '--yes', '@arethetypeswrong/cli@0.18', tarball, '--profile', 'esm-only', '--no-emoji'],
];

const failed = checks.filter(
  ([command = '', ...words]) => spawnSync(command, words, { stdio: 'inherit' }).status !== 0,
);
rmSync(work, { recursive: true });

const audit = spawnSync('npm', ['audit', '--omit=dev', '--loglevel=error'], { encoding: 'utf8' });
console.log(audit.stdout);
// A mirror of the registry may lack advisories.
if (audit.stderr.includes('audit endpoint returned an error'))
  console.error('npm audit: not answered by this registry');
else if (audit.status !== 0) failed.push(['npm', 'audit', '--omit=dev']);

if (failed.length > 0) {
  console.error(`failed: ${failed.map((words) => words.join(' ')).join('; ')}`);
  process.exit(1);
}
