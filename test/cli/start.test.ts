import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
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
/** The command as modules, so that each library is visible; the bundle loads in the same order. */
const modules = join(root, 'dist/cli/main.js');
const recorder = join(root, 'test/fixtures/record-modules.mjs');

const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}): string =>
  execFileSync(process.execPath, args, { env: { ...process.env, ...env }, encoding: 'utf8', stdio: 'pipe' });

const librariesOf = (program: string, args: readonly string[]): string[] => {
  const recorded = join(temporaryDirectory(), 'modules');
  const cache = temporaryDirectory();
  run(['--import', recorder, program, ...args], { RECORDED: recorded, XDG_CACHE_HOME: cache });
  const loaded = readFileSync(recorded, 'utf8').matchAll(/^.*\/node_modules\/(?<name>(?:@[^/]+\/)?[^/]+)/gm);
  return [...new Set([...loaded].map(({ groups }) => groups?.['name'] ?? ''))].sort();
};

it('reads the bundle by bytes, and prints characters of all kinds', () => {
  const bytes = readFileSync(join(root, 'dist/cli/layerloom.cjs'));
  expect(bytes.findIndex((byte) => byte > 0x7f)).toBe(-1);
  const { stderr } = spawnSync(process.execPath, [launcher, 'swap', '–task', './math'], { encoding: 'utf8' });
  expect(stderr).toContain('unknown option –task; did you mean --task?');
});

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

const seldom = /^(@huggingface|@stdlib|d3-|ml-matrix|papaparse|preact|pure-rand|undici)/;

describe('the libraries that a command loads', () => {
  it.each([['--version'], ['--help'], ['swap', '--help']])(
    'are those of the command line alone for %s',
    (...args) => {
      expect(librariesOf(modules, args)).toEqual(['commander', 'detect-libc', 'picocolors']);
    },
  );

  it('are, for a dry run of a swap, those that read recipes and headers and print tables', () => {
    const loaded = librariesOf(modules, swap('--dry-run'));
    expect(loaded).toEqual(expect.arrayContaining(['cli-table3', 'yaml', 'zod']));
    expect(loaded.filter((name) => seldom.test(name) || name === 'piscina')).toEqual([]);
  });

  it('are, for a swap with threads, also theirs', () => {
    expect(librariesOf(modules, swap())).not.toContain('piscina');
    const loaded = librariesOf(modules, swap('--threads', '2'));
    expect(loaded).toContain('piscina');
    expect(loaded.filter((name) => seldom.test(name))).toEqual([]);
  });

  it('are none outside the bundle, but for threads', () => {
    for (const args of [['--version'], ['--help'], swap('--dry-run'), swap()])
      expect([args, librariesOf(launcher, args)]).toEqual([args, []]);
    expect(librariesOf(launcher, swap('--threads', '2'))).toContain('piscina');
  });
});

describe('the library', () => {
  const imported = `import * as all from 'file://${join(root, 'dist/layerloom.js')}'; console.log(Object.keys(all).join());`;
  const program = (): string => {
    const file = join(temporaryDirectory(), 'program.mjs');
    writeFileSync(file, imported);
    return file;
  };

  it('exports what its types tell, and loads none of other libraries', async () => {
    const names = run([program()]).trim().split(',');
    expect(names).toEqual(Object.keys(await import('../../src/index.js')).sort());
    expect(librariesOf(program(), [])).toEqual([]);
  });

  it('has errors by name, in lines that a terminal shows', () => {
    const file = join(temporaryDirectory(), 'fails.mjs');
    writeFileSync(
      file,
      `import { soup } from 'file://${join(root, 'dist/layerloom.js')}'; await soup({ models: ['/none', '/none'] }, { out: '/none/out' });`,
    );
    const { stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8' });
    expect(stderr).toMatch(/^LayerloomError: /m);
    expect(Math.max(...stderr.split('\n').map((line) => line.length))).toBeLessThan(400);
  });

  it('has errors of the realm that it is imported in, as test runners make one for each file', () => {
    const file = join(temporaryDirectory(), 'realm.mjs');
    const path = join(root, 'dist/cli/start.cjs');
    writeFileSync(
      file,
      `import { createContext, runInContext } from 'node:vm'; import { readFileSync } from 'node:fs'; import { createRequire } from 'node:module';
      const context = createContext({ process, Buffer, URL, AbortSignal, AbortController, setTimeout, performance, structuredClone, TextDecoder, TextEncoder, SharedArrayBuffer, queueMicrotask, clearTimeout, setInterval, console });
      const own = (path) => { const module = { exports: {} }; const real = createRequire(path);
        runInContext('(function (exports, require, module, __filename, __dirname) {' + readFileSync(path, 'utf8') + '\\n})', context)(module.exports, (name) => name === './layerloom.cjs' ? own(real.resolve(name)) : real(name), module, path, ${JSON.stringify(join(root, 'dist/cli'))});
        return module.exports; };
      const { LayerloomError } = own(${JSON.stringify(path)}).library();
      console.log(new LayerloomError('USAGE', { reason: 'x' }) instanceof runInContext('Error', context));`,
    );
    expect(run([file]).trim()).toBe('true');
  });

  it('is compiled from code of its own, as each command and help are, but for those that fail', () => {
    const XDG_CACHE_HOME = temporaryDirectory();
    const words = [
      [program()],
      [launcher, '--help'],
      [launcher, ...swap('--dry-run')],
      [launcher, ...swap()],
    ];
    for (const word of [...words, [launcher, 'swap', '-h']]) run(word, { XDG_CACHE_HOME });
    const failing = [launcher, 'soup', '/none', '/none', '-o', '/none/out'];
    expect(spawnSync(process.execPath, failing, { env: { ...process.env, XDG_CACHE_HOME } }).status).not.toBe(
      0,
    );
    const uses = readdirSync(join(XDG_CACHE_HOME, 'layerloom/code')).map(
      (name) => name.split(`-${process.arch}-`)[1],
    );
    expect(uses.sort()).toEqual(['help', 'library', 'swap', 'swap-dry-run']);
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
    const { root: folder } = writeFamily({ layers: 2 });
    for (const installed of [root, copy]) {
      run([join(installed, 'bin/layerloom.cjs'), 'inspect', join(folder, 'a')], { XDG_CACHE_HOME: cache });
      const { stderr } = spawnSync(
        process.execPath,
        [join(installed, 'bin/layerloom.cjs'), 'inspect', 'none', '-v'],
        { env: { ...process.env, XDG_CACHE_HOME: cache }, encoding: 'utf8' },
      );
      expect(stderr).toContain(`(${join(installed, 'dist/cli/layerloom.cjs')}:`);
    }
    expect(readdirSync(codeIn(cache))).toHaveLength(2);
  });

  const day = 24 * 3600;
  const writeAged = (path: string, days: number): void => {
    writeFileSync(path, '');
    utimesSync(path, Date.now() / 1000 - days * day, Date.now() / 1000 - days * day);
  };
  const nameOf = (digit: string): string => `${digit.repeat(32)}-v20.1.0-x64`;

  it('removes code that is older than a month when it writes its own, and no other file', () => {
    const cache = temporaryDirectory();
    mkdirSync(codeIn(cache), { recursive: true });
    const young = nameOf('b');
    for (const name of [nameOf('a'), `${nameOf('c')}.4711`, 'thesis.tex'])
      writeAged(join(codeIn(cache), name), 31);
    writeAged(join(codeIn(cache), young), 29);
    run([launcher, '--help'], { XDG_CACHE_HOME: cache });
    const left = readdirSync(codeIn(cache)).filter((name) => name !== young && name !== 'thesis.tex');
    expect(left).toEqual([expect.stringMatching(/^[0-9a-f]{32}-v/)]);
    expect(readdirSync(codeIn(cache))).toHaveLength(3);
  });

  it.each(['layerloom', 'layerloom/code'])('touches nothing where %s is a link', (name) => {
    const [cache, other] = [temporaryDirectory(), temporaryDirectory()];
    const folder = name === 'layerloom' ? join(other, 'code') : other;
    mkdirSync(folder, { recursive: true });
    writeAged(join(folder, nameOf('a')), 60);
    mkdirSync(join(cache, name, '..'), { recursive: true });
    symlinkSync(other, join(cache, name));
    run([launcher, '--help'], { XDG_CACHE_HOME: cache });
    expect(readdirSync(folder)).toEqual([nameOf('a')]);
  });

  it('keeps code behind a link above its own folders, as of a linked ~/.cache', () => {
    const [home, real] = [temporaryDirectory(), temporaryDirectory()];
    symlinkSync(real, join(home, '.cache'));
    run([launcher, '--help'], { XDG_CACHE_HOME: '', HOME: home });
    expect(readdirSync(codeIn(real))).toHaveLength(1);
  });

  it.runIf(process.getuid?.() === 0)('touches nothing in folders of another user', () => {
    const cache = temporaryDirectory();
    mkdirSync(codeIn(cache), { recursive: true });
    writeAged(join(codeIn(cache), nameOf('a')), 60);
    chownSync(codeIn(cache), 65534, 65534);
    run([launcher, '--help'], { XDG_CACHE_HOME: cache });
    expect(readdirSync(codeIn(cache))).toEqual([nameOf('a')]);
  });

  it.each([
    ['a pipe', (path: string) => execFileSync('mkfifo', [path])],
    ['a device', (path: string) => symlinkSync('/dev/zero', path)],
    ['a directory', (path: string) => mkdirSync(path)],
    [
      'code that others may write',
      (path: string, code: Buffer) => writeFileSync(path, code, { mode: 0o666 }),
    ],
  ] as const)('compiles the program where %s has the name of its code', (_, make) => {
    const cache = temporaryDirectory();
    const help = run([launcher, '--help'], { XDG_CACHE_HOME: cache });
    const path = join(codeIn(cache), readdirSync(codeIn(cache))[0] ?? '');
    const code = readFileSync(path);
    rmSync(path);
    const umask = process.umask(0);
    make(path, code);
    process.umask(umask);
    const again = execFileSync(process.execPath, [launcher, '--help'], {
      env: { ...process.env, XDG_CACHE_HOME: cache },
      encoding: 'utf8',
      timeout: 20_000,
    });
    expect(again).toBe(help);
    if (statSync(path).isFile()) expect(statSync(path).mode & 0o777).toBe(0o600);
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
    const library = JSON.stringify(new URL('../../dist/layerloom.js', import.meta.url).href);
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
