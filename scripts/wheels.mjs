// @ts-check
// Makes a Python wheel for each platform whose addon is there, and a source distribution that explains what to
// do elsewhere. A wheel contains npm's installation with one addon. The tag states the glibc that it needs.
//
//   npm run wheels [-- DIRECTORY]          into wheels/, or DIRECTORY; reproducible
//   npm run wheels -- linux-x64            one platform, or several; cross-builds missing addons
//   npm run wheels -- --all [DIRECTORY]    fails if a platform is missing or cannot be released
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { oldestGlibc, shippedTargets } from '../dist/core/native/prebuilt.js';
import { checksumLine, glibcOf, problemOf, unpackable } from './prebuilds/shippable.mjs';
import { targets } from './prebuilds/targets.mjs';
import { writePackage } from './python-calls.mjs';

/** The versions are pinned, because others may write other bytes. */
const requirement = 'hatchling==1.33.0';

const root = fileURLToPath(new URL('..', import.meta.url));
const words = process.argv.slice(2);
const release = words.includes('--all');
const named = shippedTargets.filter((target) => words.includes(target));
const [directory = join(root, 'wheels'), ...others] = words.filter(
  (word) => word !== '--all' && !named.some((target) => target === word),
);
const fail = (/** @type {string} */ message) => {
  console.error(`error: ${message}`);
  process.exit(1);
};
const unknown = [directory, ...others].find((word) => /^(-|linux-|darwin-|win)/.test(word));
if (unknown !== undefined || others.length > 0)
  fail(`no platform ${unknown ?? others[0]}; there are ${shippedTargets.join(', ')} and --all`);
const destination = resolve(directory);
const missing = named.filter((target) => unpackable(target) === 'missing');
if (missing.length > 0)
  execFileSync(process.execPath, [join(root, 'scripts/prebuild.mjs'), ...missing], { stdio: 'inherit' });
const asked = named.length > 0 ? named : shippedTargets;
const chosen = asked.filter((target) => {
  const problem = release ? problemOf(target) : unpackable(target);
  if (problem !== undefined) console.log(`no wheel for ${target}: its addon ${problem}`);
  return problem === undefined;
});
if (chosen.length === 0 || ((release || named.length > 0) && chosen.length < asked.length))
  fail('addons are missing: `npm run prebuild -- all` makes them, `npm run build:native` this machine’s');

/**
 * Returns Python's platform tag. For a build by this machine, it has the version of this machine's glibc.
 * @param {string} target
 */
const tagOf = (target) => {
  const { wheel = '' } = targets[target] ?? {};
  const glibc = problemOf(target) === undefined ? oldestGlibc : (glibcOf(target) ?? oldestGlibc);
  if (glibc !== oldestGlibc) console.log(`${target}: for glibc ${glibc} or later, as this machine built it`);
  return wheel.replace(oldestGlibc.replace('.', '_'), glibc.replace('.', '_'));
};

const work = mkdtempSync(join(tmpdir(), 'layerloom-wheels-'));

/** Returns a Python with hatchling, kept for later runs. */
const python = () => {
  const environment = join(root, 'native/build-zig', requirement);
  const program = join(environment, 'bin/python');
  if (!existsSync(program)) execFileSync('python3', ['-m', 'venv', environment], { stdio: 'inherit' });
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', requirement];
  execFileSync(program, pip, { stdio: 'inherit' });
  return program;
};

/** @param {string} file @returns {boolean} false for types, source maps and pages */
const isLoaded = (file) =>
  !/\.(d\.[cm]?ts|ts|map|md|markdown)$/i.test(file) || /^licen[cs]e/i.test(basename(file));

/**
 * Copies npm's package and its libraries, without addons and files for Node's builds.
 *
 * @param {string} engine
 */
const copyProgram = (engine) => {
  const packed = execFileSync(process.execPath, [join(root, 'scripts/package.mjs'), work], {
    encoding: 'utf8',
  });
  execFileSync('tar', ['-xzf', packed.slice(0, packed.indexOf('.tgz: ') + 4), '-C', work]);
  const left = /^(prebuilds|native|docs|skills|llms\.txt|CMakeLists\.txt)(\/|$)/;
  const whole = join(work, 'package');
  cpSync(whole, engine, {
    recursive: true,
    filter: (from) => !left.test(from.slice(whole.length + 1)) && isLoaded(from),
  });
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  for (const [path, { dev, devOptional, optional, peer }] of Object.entries(packages))
    if (path !== '' && !(dev || devOptional || optional || peer))
      cpSync(join(root, path), join(engine, path), { recursive: true, filter: isLoaded });
};

/** @param {string} program @param {string} folder @param {string} kind @param {Record<string, string>} variables */
const build = (program, folder, kind, variables) => {
  const { SOURCE_DATE_EPOCH: _, ...env } = process.env;
  execFileSync(program, ['-m', 'hatchling', 'build', '-t', kind, '-d', destination], {
    cwd: folder,
    env: { ...env, ...variables },
    stdio: 'inherit',
  });
};

try {
  const program = python();
  const folder = join(work, 'python');
  const engine = join(folder, 'layerloom/engine');
  mkdirSync(destination, { recursive: true });
  cpSync(join(root, 'python'), folder, {
    recursive: true,
    filter: (from) => !/(^|\/)(__pycache__|\.pytest_cache|tests|layerloom_eval|layerloom_loads)$/.test(from),
  });
  writePackage(join(folder, 'layerloom'));
  for (const file of ['LICENSE', 'package.json'])
    cpSync(join(root, file), join(file === 'LICENSE' ? folder : work, file));
  copyProgram(engine);
  build(program, folder, 'sdist', {});
  for (const target of chosen) {
    const addons = join(engine, 'prebuilds');
    rmSync(addons, { recursive: true, force: true });
    cpSync(join(root, 'prebuilds', target), join(addons, target), { recursive: true });
    writeFileSync(join(addons, 'SHA256SUMS'), checksumLine(target));
    build(program, folder, 'wheel', { LAYERLOOM_WHEEL_PLATFORM: tagOf(target) });
  }
} finally {
  rmSync(work, { recursive: true });
}
