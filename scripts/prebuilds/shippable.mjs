// @ts-check
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { elfProblem } from '../../dist/core/native/elf.js';
import { addonFile, oldestGlibc } from '../../dist/core/native/prebuilt.js';

/** @param {string} a @param {string} b versions of two numbers */
const compare = (a, b) => a.localeCompare(b, 'en', { numeric: true });

/** Newest glibc that a target's addon needs, or undefined. @param {string} target */
export const glibcOf = (target) =>
  [...readFileSync(addonFile(target), 'latin1').matchAll(/\bGLIBC_(\d+\.\d+)/g)]
    .map(([, version = '']) => version)
    .sort(compare)
    .at(-1);

/**
 * Returns why a target's addon cannot be packed at all, or undefined.
 *
 * @param {string} target
 */
export const unpackable = (target) => {
  if (!existsSync(addonFile(target))) return 'missing';
  const [platform, arch = '', libc] = target.split('-');
  if (platform !== 'linux') return undefined;
  const needed = libc === 'musl' && glibcOf(target) !== undefined;
  return elfProblem(addonFile(target), arch) ?? (needed ? 'is for glibc' : undefined);
};

/**
 * Returns why a target's addon cannot be released, or undefined. The host's own build needs this machine's
 * glibc.
 *
 * @param {string} target
 */
export const problemOf = (target) => {
  const problem = unpackable(target);
  const needed = problem === undefined && target.startsWith('linux') ? glibcOf(target) : undefined;
  if (needed === undefined || compare(needed, oldestGlibc) <= 0) return problem;
  return `needs glibc ${needed}, built on this machine`;
};

/** Returns the line of SHA256SUMS for an addon. @param {string} target */
export const checksumLine = (target) => {
  const hash = createHash('sha256')
    .update(readFileSync(addonFile(target)))
    .digest('hex');
  return `${hash}  ${join(target, 'layerloom.node')}\n`;
};
