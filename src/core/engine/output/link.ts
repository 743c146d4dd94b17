import { chmod, constants, copyFile, link as linkFile, realpath, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { LayerloomError, reasonOf } from '../../base/errors/errors.js';
import { invalidParameter } from '../../base/errors/invalid-parameter.js';
import { optionName } from '../../base/errors/option-name.js';
import { isInMemory } from '../../models/checkpoint/files/open-input.js';
import { type MergePlan, verbatimPath } from '../../plan/plan.js';
import type { InputFiles } from '../input-files.js';
import { withFile } from './durable.js';
import type { Staging } from './staging.js';

/** `reflink` makes a copy-on-write copy. */
export const links = ['copy', 'reflink', 'hard', 'symbolic'] as const;

/** Ways to make a shard that equals an input file. */
export type Link = (typeof links)[number];

/** @throws INVALID_PARAMETER */
export const checkLink = (link: Link): Link => {
  if (links.includes(link)) return link;
  throw invalidParameter('link', link, links.join(', '));
};

/** @throws LINK_REFUSED if file and directory are on different file systems */
export const checkDevice = async (file: string, directory: string, link: Link): Promise<void> => {
  const [a, b] = await Promise.all([stat(file), stat(directory)]);
  if (a.dev !== b.dev) throw linkRefused(file, link, `it is on another file system than ${directory}`);
};

export const linkRefused = (file: string, link: Link, cause: unknown): LayerloomError =>
  new LayerloomError(
    'LINK_REFUSED',
    {
      file,
      link,
      reason: reasonOf(cause),
      remedy:
        link === 'hard'
          ? `hard links need the same file system, and some systems refuse them for files of another user: use ${optionName('link', 'symbolic')}, or copy`
          : `use ${optionName('link', 'copy')}`,
    },
    { cause },
  );

/** How shards were linked, by file name. Excludes written shards. */
export type Linked = ReadonlyMap<string, Exclude<Link, 'copy'>>;

export interface Linking {
  readonly linked: Linked;
  readonly warnings: readonly string[];
}

/** Error codes for file systems, kernels and files that cannot reflink. */
const cannotShare = ['ENOTSUP', 'EOPNOTSUPP', 'EXDEV', 'EINVAL', 'ENOSYS', 'ENOTTY'];

/**
 * Links shards that equal whole input files. Never writes inputs or changes their mode.
 *
 * @param link default: reflink; if the file system cannot, links nothing and warns
 * @returns linked shards; the engine copies all other shards
 * @throws LINK_REFUSED if `link` was given; INPUT_CHANGED, READ_FAILED
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
    // Skips models in memory, and shards that an earlier run could not reflink.
    if (link === undefined && (staging.done.has(file) || isInMemory(path))) continue;
    // Resolves symbolic links, which hub snapshots contain: link(2) does not follow them.
    const [from, to] = [await realpath(path), join(staging.checkpoint, file)];
    await rm(to, { force: true });
    const refusal = await linkFileBy[link ?? 'reflink'](from, to).catch(
      (error: NodeJS.ErrnoException) => error,
    );
    if (refusal !== undefined) {
      if (link === undefined && refusal.code !== undefined && cannotShare.includes(refusal.code))
        return { linked, warnings: [notShared(plan)] };
      throw linkRefused(from, link ?? 'reflink', refusal);
    }
    await inputs.verifyPath(path);
    linked.set(file, link ?? 'reflink');
  }
  return { linked, warnings: [] };
};

/**
 * Checks that symbolic links lead to the files that were read. Call it before renaming the output.
 *
 * @throws INPUT_CHANGED, READ_FAILED
 */
export const verifyLinks = async (plan: MergePlan, linked: Linked, inputs: InputFiles): Promise<void> => {
  for (const shard of plan.shards) {
    const path = verbatimPath(shard, plan.inputs);
    if (path !== undefined && linked.get(shard.file) === 'symbolic') await inputs.verifyPath(path);
  }
};

const notShared = ({ cost, shards }: MergePlan): string =>
  `${shards.filter(({ verbatim }) => verbatim !== undefined).length} shards equal to whole input files (${(cost.bytesVerbatim / 1e9).toFixed(2)} GB) ` +
  `are copied, since this file system cannot reflink them; ${optionName('link', 'hard')} or symbolic would avoid the copies`;

/** Copies durably with the default mode; `how` is a COPYFILE_FICLONE flag. */
const copyBy = (how: number) => async (from: string, to: string) => {
  await copyFile(from, to, how | constants.COPYFILE_EXCL);
  await chmod(to, 0o666 & ~process.umask());
  await withFile(to, 'r', (file) => file.sync());
};

/** Makes a link; `to` must not exist. Throws the system's errors. */
export const linkFileBy: Readonly<Record<Link, (from: string, to: string) => Promise<void>>> = {
  copy: copyBy(constants.COPYFILE_FICLONE),
  reflink: copyBy(constants.COPYFILE_FICLONE_FORCE),
  hard: linkFile,
  symbolic: (from, to) => symlink(from, to),
};
