// @ts-check
// Contents and copies of directories.
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * Each path below a directory: `directory`, a link's target, or a hash. @typedef {Map<string, string>} Tree
 */

/** Replaces the varying parts of a name by #. @param {string} name */
const withoutRandom = (name) =>
  name
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '#')
    .replace(/(layerloom-(former|removed)-)[0-9a-f]{8}/g, '$1#');

/**
 * Reads a tree that may still change: after one of several concurrent calls failed, other calls may still be ending.
 *
 * @param {string} root @returns {Promise<Tree>}
 */
export const settledTreeOf = async (root) => {
  for (let tries = 0; ; tries += 1)
    try {
      return treeOf(root);
    } catch (error) {
      if (tries === 10) throw error;
      await pause(50);
    }
};

/** @param {string} root @returns {Tree} */
export const treeOf = (root) => {
  /** @type {Tree} */
  const tree = new Map();
  const visit = (/** @type {string} */ directory, /** @type {string} */ named) => {
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const [path, at] = [join(directory, entry.name), join(named, withoutRandom(entry.name))];
      if (entry.isDirectory()) {
        tree.set(at, 'directory');
        visit(path, at);
      } else if (entry.isSymbolicLink()) tree.set(at, `-> ${readlinkSync(path)}`);
      else tree.set(at, createHash('sha256').update(readFileSync(path)).digest('hex'));
    }
  };
  visit(root, '');
  return tree;
};

/** Copies a directory with times and hard links among its files. @param {string} from @param {string} to */
export const copyTree = (from, to) => {
  /** @type {Map<number, string>} */
  const copies = new Map();
  const visit = (/** @type {string} */ source, /** @type {string} */ target) => {
    mkdirSync(target, { recursive: true });
    for (const entry of readdirSync(source, { withFileTypes: true })) {
      const [path, copy] = [join(source, entry.name), join(target, entry.name)];
      if (entry.isDirectory()) visit(path, copy);
      else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(path), copy);
      else {
        const { ino, atime, mtime } = lstatSync(path);
        const known = copies.get(ino);
        if (known !== undefined) linkSync(known, copy);
        else {
          copyFileSync(path, copy);
          utimesSync(copy, atime, mtime);
          copies.set(ino, copy);
        }
      }
    }
  };
  visit(from, to);
};
