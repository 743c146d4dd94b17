// @ts-check
// Makes a Python wheel for each platform with a shippable addon, and a source distribution that explains what
// to do elsewhere. A wheel contains npm's installation with one addon.
//
//   npm run wheels [-- DIRECTORY]          into wheels/, or DIRECTORY; reproducible
//   npm run wheels -- --all [DIRECTORY]    fails if a platform is missing, for releases
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shippedTargets } from '../dist/core/native/prebuilt.js';
import { checksumLine, problemOf } from './prebuilds/shippable.mjs';
import { targets } from './prebuilds/targets.mjs';
import { writePackage } from './python-calls.mjs';

/** Pinned: other versions may write other bytes. */
const requirement = 'hatchling==1.33.0';

const root = fileURLToPath(new URL('..', import.meta.url));
const words = process.argv.slice(2);
const destination = resolve(words.find((word) => word !== '--all') ?? join(root, 'wheels'));
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
  const chosen = shippedTargets.filter((target) => {
    const problem = problemOf(target);
    if (problem !== undefined) console.log(`no wheel for ${target}: its addon ${problem}`);
    return problem === undefined;
  });
  if (chosen.length === 0 || (words.includes('--all') && chosen.length < shippedTargets.length))
    throw new Error('addons are missing: `npm run prebuild -- all` makes them');
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
    build(program, folder, 'wheel', { LAYERLOOM_WHEEL_PLATFORM: targets[target]?.wheel ?? '' });
  }
} finally {
  rmSync(work, { recursive: true });
}
