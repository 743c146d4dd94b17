// @ts-check
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { elfProblem } from '../../dist/core/native/elf.js';
import { addonFile, oldestGlibc } from '../../dist/core/native/prebuilt.js';

/** @param {string} a @param {string} b versions of two numbers */
const compare = (a, b) => a.localeCompare(b, 'en', { numeric: true });

/**
 * Returns why a target's addon cannot be shipped, or undefined. The host's own build needs this machine's
 * glibc.
 *
 * @param {string} target
 */
export const problemOf = (target) => {
  const file = addonFile(target);
  if (!existsSync(file)) return 'missing';
  const [platform, arch = '', libc] = target.split('-');
  if (platform !== 'linux') return undefined;
  const problem = elfProblem(file, arch);
  if (problem !== undefined) return problem;
  const needed = [...readFileSync(file, 'latin1').matchAll(/\bGLIBC_(\d+\.\d+)/g)].map(
    ([, version = '']) => version,
  );
  if (libc === 'musl') return needed.length > 0 ? 'is for glibc' : undefined;
  const tooNew = needed.filter((version) => compare(version, oldestGlibc) > 0).sort(compare);
  return tooNew.length > 0 ? `needs glibc ${tooNew.at(-1)}, built on this machine` : undefined;
};

/** The line of SHA256SUMS for an addon. @param {string} target */
export const checksumLine = (target) => {
  const hash = createHash('sha256')
    .update(readFileSync(addonFile(target)))
    .digest('hex');
  return `${hash}  ${join(target, 'layerloom.node')}\n`;
};
