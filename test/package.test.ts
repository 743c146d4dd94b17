import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { addonFile, currentHost, targetOf } from '../src/core/native/prebuilt.js';
import { knownHarnessVersion } from '../src/study/evaluation/harness/harness-process.js';

const root = fileURLToPath(new URL('..', import.meta.url));

const mapOf = (file: string): string | undefined => {
  const name = /^\/\/# sourceMappingURL=(?<name>\S+)\s*$/m.exec(readFileSync(join(root, file), 'utf8'))
    ?.groups?.['name'];
  return name === undefined ? undefined : normalize(join(dirname(file), name));
};

describe('the package', () => {
  let files: readonly string[] = [];
  let sizes = { packed: 0, unpacked: 0 };

  beforeAll(() => {
    const said = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [packed] = JSON.parse(said) as [
      { files: readonly { path: string }[]; size: number; unpackedSize: number },
    ];
    files = packed.files.map(({ path }) => path);
    sizes = { packed: packed.size, unpacked: packed.unpackedSize };
  });

  it('has what it exports and runs', () => {
    for (const file of [
      'bin/layerloom.cjs',
      'dist/layerloom.js',
      'dist/index.d.ts',
      'dist/cli/layerloom.cjs',
      'dist/cli/layerloom.licences.txt',
      'dist/cli/main.js',
      'dist/cli/start.cjs',
      'package.json',
    ])
      expect(files).toContain(file);
    expect(files).toContain(relative(root, addonFile(targetOf(currentHost()))));
  });

  it('has a program of ASCII alone, which is read as Latin-1', () => {
    expect(readFileSync(join(root, 'dist/cli/layerloom.cjs')).findIndex((byte) => byte > 0x7f)).toBe(-1);
  });

  it('has the Python programs and the package that training imports, without its tests', () => {
    const python = files.filter((file) => /^(python|training)\//.test(file));
    expect(python).toEqual(
      expect.arrayContaining([
        'python/layerloom_eval/__main__.py',
        'python/layerloom_loads/__main__.py',
        'python/layerloom_train/__init__.py',
        'training/train_simultaneous.py',
      ]),
    );
    expect(python.filter((file) => /tests|__pycache__/.test(file))).toEqual([]);
  });

  it('is described in the same words for Python, with the harness that it was written for', () => {
    const python = readFileSync(join(root, 'python/pyproject.toml'), 'utf8');
    const { description } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(python).toContain(`\ndescription = "${description}"\n`);
    expect(python).toContain(`"lm-eval[hf,api]==${knownHarnessVersion}"`);
  });

  it('has every source of the addon, and neither tests nor build folders', () => {
    const description = readFileSync(join(root, 'CMakeLists.txt'), 'utf8');
    const sources = [...description.matchAll(/^ +(native\/\S+\.cpp)\)?$/gm)].map(([, file = '']) => file);
    expect(sources.length).toBeGreaterThan(20);
    expect(sources.filter((file) => !files.includes(file))).toEqual([]);
    const included = files
      .filter((file) => file.startsWith('native/'))
      .flatMap((file) =>
        [...readFileSync(join(root, file), 'utf8').matchAll(/^#include "(.+)"$/gm)].map(
          ([, name = '']) => name,
        ),
      );
    expect(
      included.filter((name) => !files.some((file) => file.endsWith(`/${name.replace(/^.*\.\.\//, '')}`))),
    ).toEqual([]);
    expect(files.filter((file) => /^(test|bench|src|scripts|native\/build)/.test(file))).toEqual([]);
  });

  it('imports no library that is not installed with it', () => {
    const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const installed = Object.keys({ ...dependencies, ...peerDependencies, layerloom: '' });
    const missing = files
      .filter((file) => /^(bin|dist)\/.*\.c?js$/.test(file) && !file.startsWith('dist/study/pages/assets/'))
      .flatMap((file) =>
        [
          ...readFileSync(join(root, file), 'utf8').matchAll(
            /^(?:import|export)\b[^'"]*? from ['"]([^.'"][^'"]*)['"]|\b(?:import|require)\(['"]([^.'"][^'"]*)['"]\)/gm,
          ),
        ].map(([, from, called = '']) => from ?? called),
      )
      .filter((name) => !isBuiltin(name) && !installed.some((one) => `${name}/`.startsWith(`${one}/`)));
    expect([...new Set(missing)]).toEqual([]);
  });

  it('runs nothing when it is installed', () => {
    const { scripts, gypfile } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(Object.keys(scripts).filter((name) => /^(pre|post)?install$/.test(name))).toEqual([]);
    // Managers that do not know `gypfile` run node-gyp where there is a binding.gyp.
    expect({ gypfile, shipped: files.includes('binding.gyp') }).toEqual({ gypfile: false, shipped: false });
  });

  // With all six addons, which are 4.8 MB (1.8 MB packed), it has about 4.8 MB packed and 15.3 MB unpacked:
  // docs/install.md.
  it('stays below 5 MB packed, and 16 MB unpacked', () => {
    expect(sizes.packed).toBeLessThan(5e6);
    expect(sizes.unpacked).toBeLessThan(16e6);
  });

  it('names no source map that it lacks, nor one of sources that it lacks', () => {
    const code = files.filter((file) => /\.(c?js|d\.c?ts)$/.test(file) && existsSync(join(root, file)));
    expect(code.length).toBeGreaterThan(100);
    const lacking = code.flatMap((file) => {
      const map = mapOf(file);
      if (map === undefined) return [];
      if (!files.includes(map)) return [`${file}: ${map}`];
      const { sources, sourcesContent = [] } = JSON.parse(readFileSync(join(root, map), 'utf8')) as {
        sources: readonly string[];
        sourcesContent?: readonly unknown[];
      };
      return sources
        .filter(
          (source, index) =>
            typeof sourcesContent[index] !== 'string' &&
            !files.includes(normalize(join(dirname(map), source))),
        )
        .map((source) => `${map}: ${source}`);
    });
    expect(lacking).toEqual([]);
  });
});
