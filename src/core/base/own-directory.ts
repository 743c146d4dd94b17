import { lstatSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

// Whether files may be removed in a directory whose name is known to others: in a cache that users share, beside an
// output in a folder of all, in a folder that came from somebody else. There a link, or a directory that its owner
// changes meanwhile, would lead a removal to files that are not ours.

/**
 * Returns why nothing may be removed in a directory: it is a link, or another user's. Undefined for a directory of this
 * user, and where there is nothing.
 */
export const foreignDirectory = (path: string): string | undefined => {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (found.isSymbolicLink()) return `${path} is a link; put a directory in its place`;
  if (!found.isDirectory()) return `${path} is not a directory; remove it`;
  if (found.uid === process.getuid?.()) return undefined;
  return `${path} belongs to another user (${found.uid}); run as that user, or use another place`;
};

/** Returns the first reason of `foreignDirectory` on the way from `root`, which counts, down to `path`. */
export const foreignBelow = (root: string, path: string): string | undefined => {
  let at = root;
  let reason = foreignDirectory(at);
  for (const name of relative(root, path).split(sep)) {
    if (reason !== undefined || name === '') break;
    at = join(at, name);
    reason = foreignDirectory(at);
  }
  return reason;
};

/**
 * Returns the first link below `root`, down to `path`, as a reason: for folders in which several users work by
 * agreement, such as a store, where directories of all of them are right, and links of none.
 */
export const linkBelow = (root: string, path: string): string | undefined => {
  let at = root;
  for (const name of relative(root, path).split(sep)) {
    if (name === '') break;
    at = join(at, name);
    if (lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink())
      return `${at} is a link; put a directory in its place`;
  }
  return undefined;
};
