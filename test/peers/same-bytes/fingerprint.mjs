// @ts-check
// Hashes of outputs, without parts that differ between two runs of one program.
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** JSON keys for times, machines and versions. */
const volatile = new Set([
  'seconds',
  'layerloom',
  'mtimeNs',
  'inode',
  'written',
  'damaged',
  'host',
  'pid',
  'bytesPerSecond',
]);

/** @param {string} text */
export const sha256 = (text) => createHash('sha256').update(text).digest('hex');

/** A value as text without volatile parts. @param {unknown} value */
export const stableJson = (value) =>
  JSON.stringify(
    value,
    (key, inner) =>
      volatile.has(key) && (typeof inner === 'string' || typeof inner === 'number') ? `(${key})` : inner,
    1,
  );

/**
 * Text with placeholders for the run's directory and the version. @param {string} text @param {string} root
 */
export const stableText = (text, root) =>
  text.replaceAll(root, 'ROOT').replace(/layerloom(@| |\/)\d+\.\d+\.\d+/g, 'layerloom$1VERSION');

/** Text with a placeholder for shard keys, which depend on the inputs' times. @param {string} text */
export const withoutKeys = (text) => text.replace(/\b[0-9a-f]{64}\b/g, 'KEY');

/** @param {string} path @param {string} root the run's directory @param {(text: string) => string} edit */
const fingerprintOf = (path, root, edit) => {
  if (lstatSync(path).isSymbolicLink()) return sha256(`-> ${stableText(readlinkSync(path), root)}`);
  const content = readFileSync(path);
  if (path.endsWith('.safetensors')) return createHash('sha256').update(content).digest('hex');
  const text = content.toString();
  return sha256(
    edit(stableText(path.endsWith('.json') && text !== '' ? stableJson(JSON.parse(text)) : text, root)),
  );
};

/** Files in which stores and outputs record their current users. */
const passing = /^(\.layerloom-lock|clock)$/;

/**
 * The hash of every file below a directory, by path.
 *
 * @param {string} directory @param {string} root
 * @param {{ prefix?: string, skip?: (path: string) => boolean, edit?: (text: string) => string }} [how]
 * `edit` changes texts before hashing
 * @returns {Record<string, string>}
 */
export const fingerprints = (
  directory,
  root,
  { prefix = '', skip = () => false, edit = (text) => text } = {},
) => {
  /** @type {Record<string, string>} */
  const found = {};
  for (const entry of readdirSync(directory, { withFileTypes: true }).sort((x, y) =>
    x.name < y.name ? -1 : 1,
  )) {
    const path = join(directory, entry.name);
    const name = `${prefix}${entry.name}`;
    if (skip(name)) continue;
    if (entry.isDirectory())
      Object.assign(found, fingerprints(path, root, { prefix: `${name}/`, skip, edit }));
    else if (!passing.test(entry.name)) found[name] = fingerprintOf(path, root, edit);
  }
  return found;
};
