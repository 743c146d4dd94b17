// @ts-check
// Cross-builds the addon with zig's compiler: docs/prebuilds.md.
//
//   npm run prebuild                       all targets
//   npm run prebuild -- linux-arm64-musl   some
//
// `npm run build:native` builds for the host, in native/build.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { isAskedFor } from './prebuilds/asked.mjs';
import { targets } from './prebuilds/targets.mjs';
import { findZig } from './prebuilds/zig.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** @returns {string[]} names of targets; empty if npm runs this script only before `build` */
const chosen = () => {
  const named = process.argv.slice(2);
  const unknown = named.filter((name) => !Object.hasOwn(targets, name) && name !== 'all');
  if (unknown.length > 0)
    throw new Error(`no target ${unknown.join(', ')}; there are ${Object.keys(targets).join(', ')} and all`);
  if (named.length > 0) return named.includes('all') ? Object.keys(targets) : named;
  const asked = process.env['npm_lifecycle_event'] === undefined || isAskedFor();
  if (asked === undefined)
    console.log('`npm run prebuild -- all` cross-builds the addons; nothing is done now.');
  return asked ? Object.keys(targets) : [];
};

/** @param {string} zig @param {string} name */
const build = (zig, name) => {
  const target = targets[name];
  if (target === undefined) throw new Error(`no target ${name}`);
  const definitions = {
    CMAKE_TOOLCHAIN_FILE: `${root}native/toolchains/zig.cmake`,
    ZIG: zig,
    ZIG_TARGET: target.zig,
    ZIG_SYSTEM: target.system,
    ZIG_PROCESSOR: target.processor,
  };
  const folder = `native/build-zig/${name}`;
  // CMake keeps a folder's first compiler, so another one needs a new folder.
  const cache = `${root}${folder}/CMakeCache.txt`;
  if (existsSync(cache) && !readFileSync(cache, 'utf8').includes(`=${zig}\n`))
    rmSync(`${root}${folder}`, { recursive: true });
  const defined = Object.entries(definitions).map(([key, value]) => `--CD${key}=${value}`);
  const compile = ['cmake-js', 'compile', '-O', folder, '-T', 'layerloom', ...defined];
  const { status, stdout, stderr } = spawnSync('npx', compile, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${name} did not build\n${stdout}${stderr}`);
  const addon = readFileSync(`${root}${folder}/Release/layerloom.node`);
  mkdirSync(`${root}prebuilds/${name}`, { recursive: true });
  // A new file is made, because processes that loaded the former one keep it.
  rmSync(`${root}prebuilds/${name}/layerloom.node`, { force: true });
  writeFileSync(`${root}prebuilds/${name}/layerloom.node`, addon);
  const packed = gzipSync(addon, { level: 9 }).length;
  console.log(`prebuilds/${name}/layerloom.node  ${addon.length} bytes, ${packed} gzipped`);
};

const names = chosen();
if (names.length > 0) {
  const zig = findZig();
  // The first build of a target also compiles libc++, which zig caches.
  for (const name of names) {
    console.log(`${name}: building`);
    build(zig, name);
  }
}
