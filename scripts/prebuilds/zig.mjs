// @ts-check
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The version is pinned, because others make other bytes and another libc++. */
const version = '0.17.1';

/** @param {string} file @param {readonly string[]} args */
const outputOf = (file, args) => execFileSync(file, args, { encoding: 'utf8' }).trim();

/** Installs zig from PyPI into a virtual environment, once. */
const install = () => {
  const environment = fileURLToPath(new URL(`../../native/build-zig/zig-${version}`, import.meta.url));
  const python = `${environment}/bin/python`;
  if (!existsSync(python)) execFileSync('python3', ['-m', 'venv', environment], { stdio: 'inherit' });
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `ziglang==${version}`];
  execFileSync(python, pip, { stdio: 'inherit' });
  return outputOf(python, [
    '-c',
    'import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))',
  ]);
};

/** Returns the path of zig: `ZIG`, or that of PyPI's. */
export const findZig = () => {
  const zig = process.env['ZIG'] || install();
  const found = outputOf(zig, ['version']);
  if (found !== version) throw new Error(`${zig} is zig ${found}; the addons are built with ${version}`);
  return zig;
};
