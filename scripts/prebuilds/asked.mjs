// @ts-check
import { spawnSync } from 'node:child_process';

/**
 * True if `npm run prebuild` was typed; false if npm runs the script before `build`, with equal environment
 * and arguments. Reads the title of npm's process. Undefined if it cannot be seen (no `ps`, or a changed
 * title).
 *
 * @returns {boolean | undefined}
 */
export const isAskedFor = () => {
  // There may be shells between npm and this process.
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
