// @ts-check
import { spawnSync } from 'node:child_process';

/**
 * True if `npm run prebuild` was typed, false if npm runs the script before `build`, as it does every script of such a
 * name: the environment and the arguments are the same in both. npm's process has the command as its title.
 * Undefined where neither can be seen (no `ps`, or a program that sets another title).
 *
 * @returns {boolean | undefined}
 */
export const isAskedFor = () => {
  // Shells stand between npm and this process, or none.
  for (let pid = process.ppid; pid > 1; ) {
    const { status, stdout } = spawnSync('ps', ['-o', 'ppid=,args=', '-p', String(pid)], {
      encoding: 'utf8',
    });
    const [, parent, command = ''] = (status === 0 && stdout.match(/^\s*(\d+)\s+(.*)/)) || [];
    if (parent === undefined) return undefined;
    if (/\bprebuild\.mjs\b/.test(command)) pid = Number(parent);
    else if (/\sprebuild(\s|$)/.test(command)) return true;
    else return /\sbuild(\s|$)/.test(command) ? false : undefined;
  }
  return undefined;
};
