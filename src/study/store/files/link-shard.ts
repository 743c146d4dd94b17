import { rm } from 'node:fs/promises';
import { codeOf, LayerloomError } from '../../../core/base/errors/errors.js';
import { type Link, linkFileBy, linkRefused } from '../../../core/engine/output/link.js';
import { isAbsent } from './failures.js';
import type { StorePaths } from './paths.js';
import { readEntry, wholeOf } from './record.js';

/** A shard linked to an output. */
export interface LinkedShard {
  /** Kind of link; `copy` if the file cannot have more hard links. */
  readonly link: Link;
  /** SHA-256 from the shard's record, if present. */
  readonly sha256?: string;
  readonly warnings: readonly string[];
}

/**
 * Links a shard, replacing a file at `target`. A hard link shares the store's read-only file. At the file
 * system's limit of hard links (65,000 on ext4), warns and copies the shard, as a reflink if possible.
 *
 * @throws LINK_REFUSED; STORE_SHARD_MISSING if `gc` has removed the shard meanwhile
 */
export const linkShard = async (
  paths: StorePaths,
  key: string,
  target: string,
  link: Link,
): Promise<LinkedShard> => {
  const shard = paths.shard(key);
  const missing = () => new LayerloomError('STORE_SHARD_MISSING', { store: paths.root, key });
  const record = wholeOf(await readEntry(paths, key));
  if (record === undefined) throw missing();
  const known = record.sha256 === undefined ? {} : { sha256: record.sha256 };
  const attempt = async (how: Link): Promise<unknown> => {
    try {
      await rm(target, { force: true });
      await linkFileBy[how](shard, target);
      return undefined;
    } catch (error) {
      return error;
    }
  };
  const refused = async (cause: unknown) => {
    if (isAbsent(cause) && (await readEntry(paths, key)).file === undefined) return missing();
    return linkRefused(shard, link, cause);
  };
  const failure = await attempt(link);
  if (failure === undefined) return { link, ...known, warnings: [] };
  if (codeOf(failure) !== 'EMLINK') throw await refused(failure);
  const copyFailure = await attempt('copy');
  if (copyFailure !== undefined) throw await refused(copyFailure);
  return {
    link: 'copy',
    ...known,
    warnings: [`${shard} has as many hard links as its file system allows, so it was copied to ${target}`],
  };
};
