// @ts-check
// Output, files and exit codes of the command line and the demo.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fingerprints, sha256, stableText, withoutKeys } from './fingerprint.mjs';

/** @typedef {import('./recorder.mjs').Recorder} Recorder */

/** @param {Recorder} recorder @param {string} name @param {string} program @param {readonly string[]} given */
const recordProgram = ({ tree, root, hashOf, add }, name, program, given) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(tree, program), ...given], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  });
  const text = (/** @type {string} */ said) => {
    const stable = said.replace(/[\d.]+ [kMG]?B\/s\b/g, 'RATE').replace(/[\d.]+ m?s\b/g, 'TIME');
    try {
      return hashOf(JSON.parse(said));
    } catch {
      return sha256(stableText(stable, root));
    }
  };
  add('programs', name, {
    '(exit code)': String(status),
    '(stdout)': text(stdout),
    '(stderr)': text(stderr),
  });
};

/** Runs the command line. @param {Recorder} recorder @param {import('./checkpoints.mjs').Models} models */
export const runCommands = (recorder, { base, a, b, layered }) => {
  const { root, add, wants } = recorder;
  if (!wants('programs')) return;
  const cli = 'dist/cli/main.js';
  const swap = ['swap', '--task', layered, '--lang', b, '--bottom', '2', '--top', '1'];
  const commands = {
    'swap --dry-run': [...swap, '--dry-run'],
    'swap --dry-run --json': [...swap, '--dry-run', '--json'],
    'swap -o': [...swap, '-o', 'swapped', '--checksums'],
    'swap -o again': [...swap, '-o', 'swapped'],
    'soup --json': ['soup', a, b, '-o', 'soup', '--json'],
    'revert --dry-run': ['revert', '--base', base, a, '--threshold', '0.002', '--dry-run'],
    analyze: ['analyze', '--base', base, a, b, '-o', 'analysis', '-q'],
    inspect: ['inspect', a],
    'inspect --json': ['inspect', a, '--json'],
    verify: ['verify', 'swapped'],
    'wrong option': ['swap', '--tsak', a],
    'no such model': ['soup', 'no-such/model', a, '-o', 'x', '--json'],
    help: ['--help'],
  };
  for (const [name, given] of Object.entries(commands)) recordProgram(recorder, name, cli, given);
  for (const name of ['swapped', 'soup', 'analysis'])
    add('programs', name, fingerprints(join(root, name), root));
};

/** @param {Recorder} recorder */
export const runDemo = (recorder) => {
  const { root, add, wants } = recorder;
  if (!wants('demo')) return;
  recordProgram(recorder, 'demo', 'examples/demo/demo.mjs', [join(root, 'demo')]);
  // The demo writes its inputs itself, and shard keys depend on their times.
  const skip = (/** @type {string} */ path) => path === 'experiment/.store';
  add('demo', 'demo', fingerprints(join(root, 'demo'), root, { skip, edit: withoutKeys }));
};
