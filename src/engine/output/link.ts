import { chmod, constants, copyFile, link as linkFile, realpath, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { LayerloomError, reasonOf } from '../../errors.js';
import { type MergePlan, verbatimPath } from '../../plan/plan.js';
import type { InputFiles } from '../input-files.js';
import { withFile } from './durable.js';
import type { Staging } from './staging.js';

/**
 * How a shard comes about that is an input file as it stands: `copy`; `reflink`, a copy that shares the file system's blocks; `hard`, another
 * name of the input file; `symbolic`, a link to its path.
 */
export const links = ['copy', 'reflink', 'hard', 'symbolic'] as const;

export type Link = (typeof links)[number];

/** @throws LayerloomError INVALID_PARAMETER */
export const checkLink = (link: Link): Link => {
  if (links.includes(link)) return link;
  throw new LayerloomError('INVALID_PARAMETER', {
    parameter: 'link',
    value: link,
    expected: links.join(', '),
  });
};

/** How shards came about that were not written, by file name. */
export type Linked = ReadonlyMap<string, Exclude<Link, 'copy'>>;

export interface Linking {
  readonly linked: Linked;
  readonly warnings: readonly string[];
}

/** What file systems and kernels without shared blocks answer, and pairs of files that cannot share any. */
const cannotShare = ['ENOTSUP', 'EOPNOTSUPP', 'EXDEV', 'EINVAL', 'ENOSYS', 'ENOTTY'];

/**
 * Links the shards of a plan that are input files as they stand. The inputs are never written, nor their mode changed: they are the user's.
 *
 * @param link by default reflink where the file system can, and else nothing, which is said: such shards are then copied
 * @returns those it linked; the others are for the engine to copy
 * @throws LayerloomError LINK_REFUSED, where `link` was asked for; INPUT_CHANGED, READ_FAILED
 */
export const linkShards = async (
  plan: MergePlan,
  staging: Staging,
  inputs: InputFiles,
  link: Link | undefined,
): Promise<Linking> => {
  if (link === 'copy') return { linked: new Map(), warnings: [] };
  const verbatim = plan.shards.flatMap((shard) => {
    const path = verbatimPath(shard, plan.inputs);
    return path === undefined ? [] : [{ file: shard.file, path }];
  });
  const work = () => linkEach(plan, verbatim, staging, inputs, link);
  return link === 'hard'
    ? await inputs.whileLinking(
        verbatim.map(({ path }) => path),
        work,
      )
    : await work();
};

const linkEach = async (
  plan: MergePlan,
  verbatim: readonly { readonly file: string; readonly path: string }[],
  staging: Staging,
  inputs: InputFiles,
  link: Exclude<Link, 'copy'> | undefined,
): Promise<Linking> => {
  const linked = new Map<string, Exclude<Link, 'copy'>>();
  for (const { file, path } of verbatim) {
    // A hub snapshot's file is itself a link, to be followed: link(2) would link to the link.
    const [from, to] = [await realpath(path), join(staging.checkpoint, file)];
    await rm(to, { force: true });
    const refusal = await linkFileBy[link ?? 'reflink'](from, to).catch(
      (error: NodeJS.ErrnoException) => error,
    );
    if (refusal !== undefined) {
      if (link === undefined && cannotShare.includes(refusal.code ?? ''))
        return { linked, warnings: [notShared(plan)] };
      const details = { file: from, link: link ?? 'reflink', reason: reasonOf(refusal) };
      throw new LayerloomError('LINK_REFUSED', details, { cause: refusal });
    }
    await inputs.verifyPath(path);
    linked.set(file, link ?? 'reflink');
  }
  return { linked, warnings: [] };
};

/**
 * Asks that symbolic links to input files still lead to the files that were read: to be called before the output gets its name.
 *
 * @throws LayerloomError INPUT_CHANGED, READ_FAILED
 */
export const verifyLinks = async (plan: MergePlan, linked: Linked, inputs: InputFiles): Promise<void> => {
  for (const shard of plan.shards) {
    const path = verbatimPath(shard, plan.inputs);
    if (path !== undefined && linked.get(shard.file) === 'symbolic') await inputs.verifyPath(path);
  }
};

const notShared = ({ cost, shards }: MergePlan): string =>
  `${shards.filter(({ verbatim }) => verbatim !== undefined).length} shards are input files as they stand (${(cost.bytesVerbatim / 1e9).toFixed(2)} GB) ` +
  'and are copied, as this file system shares no blocks with them; --link hard or symbolic would not write them';

/** A copy with a mode of its own; `how` says whether it shares blocks. */
const copyBy = (how: number) => async (from: string, to: string) => {
  await copyFile(from, to, how | constants.COPYFILE_EXCL);
  await chmod(to, 0o666 & ~process.umask());
  await withFile(to, 'r', (file) => file.sync());
};

/** Makes `to`, which is not there yet, of the file `from`, which stays as it is. Fails as the system does. */
export const linkFileBy: Readonly<Record<Link, (from: string, to: string) => Promise<void>>> = {
  copy: copyBy(constants.COPYFILE_FICLONE),
  reflink: copyBy(constants.COPYFILE_FICLONE_FORCE),
  hard: linkFile,
  symbolic: (from, to) => symlink(from, to),
};
