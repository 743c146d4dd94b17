import type { Dirent } from 'node:fs';
import { readdir, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { reading } from '../base/files/writing.js';
import { isModelFile } from '../models/checkpoint/containers/containers.js';
import { ignoredPaths } from '../statements/signature.js';

export interface ListedFolder {
  /** Names of regular files, with `/`. */
  readonly files: readonly string[];
  /** Entries that cannot be signed, each with a reason as a phrase after the name. */
  readonly refused: readonly { readonly name: string; readonly reason: string }[];
}

/** Holds download metadata of huggingface_hub, which no loader reads. */
const cacheOfHub = '.cache/huggingface';

/**
 * Lists the files that a signature covers: all except `ignoredPaths`. Refuses weights in ignored paths, and
 * links, which may lead elsewhere. Allows links of the hub's cache to its own blobs and, with `mayLink`,
 * links to files.
 *
 * @throws READ_FAILED
 */
export const listFolder = async (directory: string, mayLink: boolean): Promise<ListedFolder> => {
  const [files, refused]: [string[], { name: string; reason: string }[]] = [[], []];
  const blobs = await blobsOf(directory);
  const look = async (folder: string, isSigned: boolean): Promise<void> => {
    const path = join(directory, folder);
    const entries = await reading(path, () => readdir(path, { withFileTypes: true }));
    for (const entry of entries) {
      const name = folder === '' ? entry.name : `${folder}/${entry.name}`;
      const isIgnored = !isSigned || ignoredPaths.includes(name) || name === cacheOfHub;
      if (entry.isDirectory()) await look(name, !isIgnored);
      else if (isIgnored && isModelFile(name.toLowerCase())) refused.push({ name, reason: loadable });
      else if (isIgnored && !entry.isSymbolicLink()) continue;
      else if (entry.name.includes('\uFFFD')) refused.push({ name, reason: 'has a name that is not UTF-8' });
      else if (!(entry.isFile() || (await isGoodLink(path, entry, blobs, mayLink))))
        refused.push({ name, reason: reasonOf(entry) });
      else if (!isIgnored) files.push(name);
    }
  };
  await look('', true);
  return { files: files.sort(), refused };
};

const loadable = 'is named like weights, and no signature covers it there';

const reasonOf = (entry: Dirent): string =>
  entry.isSymbolicLink()
    ? 'is a symbolic link, which is not signed; put a copy of its file in its place'
    : 'is not a file';

const blobsOf = async (directory: string): Promise<string | undefined> => {
  const real = await realpath(directory);
  const snapshots = dirname(real);
  const repository = dirname(snapshots);
  return basename(snapshots) === 'snapshots' && basename(repository).startsWith('models--')
    ? join(repository, 'blobs')
    : undefined;
};

const isGoodLink = async (
  folder: string,
  entry: Dirent,
  blobs: string | undefined,
  mayLink: boolean,
): Promise<boolean> => {
  if (!entry.isSymbolicLink()) return false;
  const path = join(folder, entry.name);
  try {
    if (!(await stat(path)).isFile()) return false;
    // Checks only the direct target of the link.
    return mayLink || (blobs !== undefined && dirname(resolve(folder, await readlink(path))) === blobs);
  } catch {
    return false;
  }
};
