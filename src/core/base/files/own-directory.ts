import { lstatSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

// Decides whether files may be removed in a shared directory, such as a cache. A link, or a directory that
// its owner replaces meanwhile, could lead to other files.

/** Returns why nothing may be removed in a directory: it is a link, not a directory, or another user's. */
export const foreignDirectory = (path: string): string | undefined => {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if (found.isSymbolicLink()) return `${path} is a link; put a directory in its place`;
  if (!found.isDirectory()) return `${path} is not a directory; remove it`;
  if (found.uid === process.getuid?.()) return undefined;
  return `${path} belongs to another user (${found.uid}); run as that user, or use another place`;
};

/** Returns the first directory's reason, from `root` down to `path`. */
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

/** Returns, as a reason, the first link from `root` down to `path`; other users' directories are allowed. */
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
