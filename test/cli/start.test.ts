import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { writeFamily } from '../fixtures/family.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const launcher = join(root, 'bin/layerloom.cjs');
/** The command as modules, where each library can be told; the bundle has the same order of loading. */
const modules = join(root, 'dist/cli/main.js');
const recorder = join(root, 'test/fixtures/record-modules.mjs');

const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}): string =>
  execFileSync(process.execPath, args, { env: { ...process.env, ...env }, encoding: 'utf8', stdio: 'pipe' });

/** Returns the libraries that a command loads from node_modules. */
const librariesOf = (program: string, args: readonly string[]): string[] => {
  const recorded = join(temporaryDirectory(), 'modules');
  const cache = temporaryDirectory();
  run(['--import', recorder, program, ...args], { RECORDED: recorded, XDG_CACHE_HOME: cache });
  const loaded = readFileSync(recorded, 'utf8').matchAll(/^.*\/node_modules\/(?<name>(?:@[^/]+\/)?[^/]+)/gm);
  return [...new Set([...loaded].map(({ groups }) => groups?.['name'] ?? ''))].sort();
};

const swap = (...more: string[]) => {
  const { root: folder } = writeFamily({ layers: 8 });
  return [
    'swap',
    '--task',
    join(folder, 'a'),
    '--lang',
    join(folder, 'b'),
    '-o',
    join(folder, 'out'),
    ...more,
  ];
};

/** What only other commands, or other outputs of these, need. */
const seldom = /^(@huggingface|@stdlib|d3-|ml-matrix|minisearch|papaparse|preact|pure-rand|undici)/;

describe('the libraries that a command loads', () => {
  it.each([['--version'], ['--help'], ['swap', '--help']])(
    'are those of the command line alone for %s',
    (...args) => {
      expect(librariesOf(modules, args)).toEqual(['commander', 'picocolors']);
    },
  );

  it('are, for a dry run of a swap, those that read recipes and headers and print tables', () => {
    const loaded = librariesOf(modules, swap('--dry-run'));
    expect(loaded).toEqual(expect.arrayContaining(['cli-table3', 'yaml', 'zod']));
    expect(loaded.filter((name) => seldom.test(name) || name === 'piscina')).toEqual([]);
  });

  it('are, for a swap, also the worker threads’', () => {
    const loaded = librariesOf(modules, swap());
    expect(loaded).toContain('piscina');
    expect(loaded.filter((name) => seldom.test(name))).toEqual([]);
  });

  it('are none outside the bundle, but for threads', () => {
    for (const args of [['--version'], ['--help'], swap('--dry-run')])
      expect([args, librariesOf(launcher, args)]).toEqual([args, []]);
    expect(librariesOf(launcher, swap())).toContain('piscina');
  });
});

describe('the launcher', () => {
  const codeIn = (cache: string): string => join(cache, 'layerloom/code');

  it('keeps compiled code where only its user writes, and answers the same by it', () => {
    const cache = temporaryDirectory();
    const args = [launcher, ...swap('--dry-run', '--json')];
    const first = run(args, { XDG_CACHE_HOME: cache });
    const [file = ''] = readdirSync(codeIn(cache));
    const path = join(codeIn(cache), file);
    expect([statSync(codeIn(cache)).mode & 0o777, statSync(path).mode & 0o777]).toEqual([0o700, 0o600]);
    const { mtimeMs } = statSync(path);
    expect(run(args, { XDG_CACHE_HOME: cache })).toBe(first);
    expect([readdirSync(codeIn(cache)), statSync(path).mtimeMs]).toEqual([[file], mtimeMs]);
  });

  it('replaces code that is none, or of another V8', () => {
    const cache = temporaryDirectory();
    const help = run([launcher, '--help'], { XDG_CACHE_HOME: cache });
    const [file = ''] = readdirSync(codeIn(cache));
    const path = join(codeIn(cache), file);
    const damaged = readFileSync(path);
    damaged.fill(255, damaged.length / 2, damaged.length / 2 + 64);
    for (const bad of [
      damaged,
      Buffer.from('damaged'),
      Buffer.alloc(0),
      readFileSync(path).subarray(0, 4096),
    ]) {
      writeFileSync(path, bad);
      expect(run([launcher, '--help'], { XDG_CACHE_HOME: cache })).toBe(help);
      expect(statSync(path).size).toBeGreaterThan(100_000);
    }
  });

  it('keeps code for each installation, whose path stacks show', () => {
    const cache = temporaryDirectory();
    const copy = temporaryDirectory();
    for (const name of ['node_modules', 'prebuilds']) symlinkSync(join(root, name), join(copy, name));
    for (const name of ['bin', 'package.json', 'dist/cli'])
      cpSync(join(root, name), join(copy, name), { recursive: true });
    for (const installed of [root, copy]) {
      const { stderr } = spawnSync(
        process.execPath,
        [join(installed, 'bin/layerloom.cjs'), 'inspect', 'none', '-v'],
        { env: { ...process.env, XDG_CACHE_HOME: cache }, encoding: 'utf8' },
      );
      expect(stderr).toContain(`(${join(installed, 'dist/cli/layerloom.cjs')}:`);
    }
    expect(readdirSync(codeIn(cache))).toHaveLength(2);
  });

  it('removes code that is older than a month when it writes its own', () => {
    const cache = temporaryDirectory();
    mkdirSync(codeIn(cache), { recursive: true });
    const day = 24 * 3600;
    for (const [name, days] of [
      ['old', 31],
      ['young', 29],
    ] as const) {
      const path = join(codeIn(cache), name);
      writeFileSync(path, '');
      utimesSync(path, Date.now() / 1000 - days * day, Date.now() / 1000 - days * day);
    }
    run([launcher, '--help'], { XDG_CACHE_HOME: cache });
    expect(readdirSync(codeIn(cache))).toEqual([expect.stringMatching(/^[0-9a-f]{32}-v/), 'young']);
  });

  it('runs where nothing can be kept', () => {
    const blocked = join(temporaryDirectory(), 'file');
    writeFileSync(blocked, '');
    const readOnly = temporaryDirectory();
    chmodSync(readOnly, 0o500);
    const other = join(temporaryDirectory(), 'cache');
    mkdirSync(join(codeIn(other), '..'), { recursive: true });
    writeFileSync(codeIn(other), '');
    for (const XDG_CACHE_HOME of [blocked, readOnly, other, '/dev/null', '/proc'])
      expect(run([launcher, 'swap', '--help'], { XDG_CACHE_HOME })).toMatch(/--bottom-transition/);
    expect(run([launcher, 'swap', '--help'], { XDG_CACHE_HOME: '', HOME: '' })).toMatch(
      /--bottom-transition/,
    );
    chmodSync(readOnly, 0o700);
  });

  it('keeps nothing where Node is told to', () => {
    const cache = temporaryDirectory();
    run([launcher, '--help'], { XDG_CACHE_HOME: cache, NODE_DISABLE_COMPILE_CACHE: '1' });
    expect(existsSync(codeIn(cache))).toBe(false);
  });

  it('loads plugins into the library that they import', () => {
    const plugin = join(temporaryDirectory(), 'plugin.mjs');
    const library = JSON.stringify(new URL('../../dist/index.js', import.meta.url).href);
    writeFileSync(
      plugin,
      `import { registerMethod, methods } from ${library};\nregisterMethod({ ...methods.get('relayout'), name: 'of_plugin' });\n`,
    );
    const { root: folder } = writeFamily({ layers: 2 });
    const recipe = join(folder, 'recipe.yaml');
    writeFileSync(recipe, 'method: of_plugin\nmodel: ./a\n');
    expect(run([launcher, 'merge', recipe, '--plugin', plugin, '--dry-run'])).toMatch(/model/);
    expect(run([launcher, 'merge', recipe, `--plugin=${plugin}`, '--dry-run'])).toMatch(/model/);
  });
});
