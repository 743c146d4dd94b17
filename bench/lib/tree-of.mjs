// @ts-check
// The project at another commit, to measure beside this tree.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const here = fileURLToPath(new URL('../..', import.meta.url));

const git = (/** @type {string[]} */ ...args) =>
  execFileSync('git', ['-C', here, ...args], { maxBuffer: 2 ** 30 });

/**
 * Builds the tree of a commit, unless it exists.
 *
 * @param {string} name of the commit
 * @param {string} directory keeps trees, by commit hash
 * @returns {{ commit: string, tree: string }} its hash and path
 */
export const treeAt = (name, directory) => {
  const commit = git('rev-parse', '--verify', `${name}^{commit}`).toString().trim();
  const tree = join(directory, commit);
  if (existsSync(join(tree, 'dist/cli'))) return { commit, tree };
  rmSync(tree, { recursive: true, force: true });
  mkdirSync(tree, { recursive: true });
  execFileSync('tar', ['-x', '-C', tree], { input: git('archive', commit) });
  for (const args of [
    ['ci', '--ignore-scripts'],
    ['run', 'build'],
  ])
    execFileSync('npm', args, { cwd: tree, stdio: ['ignore', 'ignore', 'inherit'] });
  return { commit, tree };
};
