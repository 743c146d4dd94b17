import { chmod, constants, copyFile, link as linkFile, realpath, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { LayerloomError, reasonOf } from '../errors.js';
import type { MergePlan } from '../plan/plan.js';
import { withFile } from './durable.js';
import type { Staging } from './staging.js';

/**
 * How a shard comes about that is an input file as it stands: `copy`; `reflink`, a copy that shares the file system's blocks where it can, and else
 * a copy; `hard`, another name of the input file; `symbolic`, a link to its path.
 */
export const links = ['copy', 'reflink', 'hard', 'symbolic'] as const;

export type Link = (typeof links)[number];

/** How shards came about that were not written, by file name. */
export type Linked = ReadonlyMap<string, Exclude<Link, 'copy'>>;

/** What file systems and kernels without shared blocks answer, and pairs of files that cannot share any. */
const cannotShare = ['ENOTSUP', 'EOPNOTSUPP', 'EXDEV', 'EINVAL', 'ENOSYS', 'ENOTTY'];

/**
 * Links the shards of a plan that are input files as they stand. The inputs are never written, nor their mode changed: they are the user's.
 *
 * @returns those it linked; the others are for the engine to copy
 * @throws LayerloomError LINK_REFUSED
 */
export const linkShards = async (plan: MergePlan, staging: Staging, link: Link): Promise<Linked> => {
  const linked = new Map<string, Exclude<Link, 'copy'>>();
  if (link === 'copy') return linked;
  for (const { file, verbatim } of plan.shards) {
    if (verbatim === undefined) continue;
    const named = plan.inputs[verbatim.input]?.files[verbatim.file]?.path ?? '';
    // A hub snapshot's file is itself a link, to be followed: link(2) would link to the link.
    const [from, to] = [await realpath(named), join(staging.checkpoint, file)];
    await rm(to, { force: true });
    if (link === 'reflink') {
      if (!(await clone(from, to))) break;
    } else
      await (link === 'hard' ? linkFile(from, to) : symlink(from, to)).catch((cause: unknown) => {
        throw new LayerloomError('LINK_REFUSED', { file: from, link, reason: reasonOf(cause) }, { cause });
      });
    linked.set(file, link);
  }
  return linked;
};

/** A copy that shares blocks, with a mode of its own; false where the two paths cannot share any. */
const clone = async (from: string, to: string): Promise<boolean> => {
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL);
  } catch (cause) {
    if (cannotShare.includes((cause as NodeJS.ErrnoException).code ?? '')) return false;
    throw new LayerloomError(
      'LINK_REFUSED',
      { file: from, link: 'reflink', reason: reasonOf(cause) },
      { cause },
    );
  }
  await chmod(to, 0o666 & ~process.umask());
  await withFile(to, 'r', (file) => file.sync());
  return true;
};
