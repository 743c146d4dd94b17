// @ts-check
// Collects hashes of the outputs of one tree's build.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { fingerprints, sha256, stableJson, stableText } from './fingerprint.mjs';

/** Hashes by group, output and file. @typedef {Record<string, Record<string, Record<string, string>>>} Groups */
/** @typedef {Awaited<ReturnType<typeof recorderOf>>} Recorder */

/**
 * @param {string} tree @param {string} root directory for outputs @param {RegExp} only the wanted groups
 */
export const recorderOf = async (tree, root, only) => {
  /** @type {typeof import('../../../src/index.js')} */
  const layerloom = await import(pathToFileURL(join(tree, 'dist', 'index.js')).href);
  /** @type {Groups} */
  const groups = {};

  const wants = (/** @type {string} */ group) => only.test(group);

  /** @param {string} group @param {string} output @param {Record<string, string>} files */
  const add = (group, output, files) => {
    groups[group] = { ...groups[group], [output]: files };
  };

  const hashOf = (/** @type {unknown} */ value) => sha256(stableText(stableJson(value), root));

  /** An error's whole text, since it is compared. @param {unknown} error @returns {Record<string, string>} */
  const refusal = (error) => {
    if (!(error instanceof layerloom.LayerloomError)) throw error;
    const { details, ...rest } = error.toJSON();
    const inOrder = Object.fromEntries(Object.entries(details).sort(([a], [b]) => (a < b ? -1 : 1)));
    const said = { ...rest, details: inOrder, exitCode: error.exitCode };
    return { '(error)': stableText(stableJson(said), root) };
  };

  /**
   * Runs one operation in its own directory, and hashes the result. @param {string} group @param {string}
   * output @param {(out: string) => Promise<Record<string, string>>} work
   */
  const record = async (group, output, work) => {
    if (!wants(group)) return;
    const out = join(root, 'out');
    try {
      const said = await work(out);
      add(group, output, { ...said, ...fingerprints(out, root) });
    } catch (error) {
      add(group, output, refusal(error));
    } finally {
      rmSync(out, { recursive: true, force: true });
    }
  };

  return { tree, layerloom, root, groups, wants, add, hashOf, refusal, record };
};
