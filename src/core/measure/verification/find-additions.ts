import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { unlessMissing } from '../../base/files/unless-missing.js';
import { isWeightsName } from '../../models/checkpoint/containers/containers.js';
import { kindOfFolder, mayStand } from './may-stand.js';
import type { VerifiedFile } from './verification.js';

export interface Additions {
  /** Sorted names of files, and of unsearched folders as `NAME/`. Leaves out caches. */
  readonly unlisted: readonly string[];
  /** Additions that are not allowed. */
  readonly damage: readonly VerifiedFile[];
}

/**
 * Lists an output folder's other files and folders. Does not follow links, nor search folders
 * that are not allowed.
 *
 * @param known names of the output's own files, with `/`
 * @param inputs paths of the compared models, whose folders may be inside
 * @throws READ_FAILED
 */
export const findAdditions = async (
  directory: string,
  known: ReadonlySet<string>,
  inputs: ReadonlySet<string>,
): Promise<Additions> => {
  const folders = new Set([...known].flatMap(foldersOf));
  const inLowerCase = new Map([...known].map((name) => [plainOf(name), name]));
  const [unlisted, damage]: [string[], VerifiedFile[]] = [[], []];
  const lookInto = async (folder: string): Promise<void> => {
    const path = join(directory, folder);
    const entries = await unlessMissing(path, readdir(path, { withFileTypes: true }));
    for (const entry of entries ?? []) {
      const name = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (known.has(name) || (entry.isDirectory() && inputs.has(join(directory, name)))) continue;
      if (entry.isDirectory() && folders.has(name)) await lookInto(name);
      else if (entry.isDirectory() && kindOfFolder(name) === 'open') await lookInto(name);
      else if (!(entry.isDirectory() && kindOfFolder(name) === 'cache')) {
        const shown = entry.isDirectory() ? `${name}/` : name;
        unlisted.push(shown);
        if (!(mayStand(name) && (await isFile(path, entry))))
          damage.push({
            ...{ file: shown, bytes: null, state: 'different' },
            reason: reasonOf(name, entry, inLowerCase.get(plainOf(name))),
          });
      }
    }
  };
  await lookInto('');
  return {
    unlisted: unlisted.sort(),
    damage: damage.sort((a, b) => (a.file < b.file ? -1 : 1)),
  };
};

const foldersOf = (name: string): string[] => {
  const parts = name.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
};

/** Maps names that look equal to people or case-insensitive file systems to one name. */
const plainOf = (name: string): string => name.normalize('NFKC').toLowerCase();

/** True for a file, and for a link to one as in hub caches. */
const isFile = async (folder: string, entry: Dirent): Promise<boolean> => {
  if (!entry.isSymbolicLink()) return entry.isFile();
  // Fails for a loop of links, and for a link that may not be followed.
  return stat(join(folder, entry.name)).then(
    (found) => found.isFile(),
    () => false,
  );
};

/** @param like the output's file of almost the same name, if any */
const reasonOf = (name: string, entry: Dirent, like: string | undefined): string => {
  const added = 'was not written by the merge';
  if (like !== undefined) return `${added}, and is named almost like ${like}`;
  if (name.endsWith('.gguf')) return `${added}; keep an exported file in a folder of its own`;
  if (entry.name.startsWith('._'))
    return `${added}: macOS keeps attributes in it, and loaders list it as one more file of the model; remove it`;
  if (entry.isDirectory()) return `${added}, and loaders look into folders`;
  if (entry.isSymbolicLink()) return `${added}, and is a link`;
  return isWeightsName(name.toLowerCase())
    ? `${added}, and is named like weights`
    : `${added}; only a card, a licence, pictures and files of git may be added`;
};
