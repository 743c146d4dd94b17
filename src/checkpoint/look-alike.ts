import { constants, type FileHandle, open } from 'node:fs/promises';
import { itemAt } from '../base/lookup.js';
import type { CheckpointIndex, FileIdentity } from './checkpoint.js';
import { withFewFiles } from './few-at-once.js';
import { readBlock } from './read-block.js';

/** Blocks that are read of two files to compare them, at equal distances, and their size. */
const blocks = 64;
const blockBytes = 4096;

/**
 * True if two checkpoints look like one: the same files, or as many files of equal sizes and headers in which 64 blocks at
 * equal distances are equal too. That is no proof, and the first block that differs ends it. False for a base with an
 * adapter, whose files are the base's.
 *
 * A file that cannot be read is left for the run to report.
 */
export const lookAlike = async (a: CheckpointIndex, b: CheckpointIndex): Promise<boolean> => {
  if (a.adapted !== undefined || b.adapted !== undefined || a.files.length !== b.files.length) return false;
  const pairs = a.files.map((file, index) => [file, itemAt(b.files, index)] as const);
  if (pairs.some(([one, other]) => one.bytes !== other.bytes || one.header !== other.header)) return false;
  for (const [one, other] of pairs)
    if (one.path !== other.path && !(await filesLookAlike(one, other).catch(() => false))) return false;
  return true;
};

const filesLookAlike = async (a: FileIdentity, b: FileIdentity): Promise<boolean> => {
  // Bytes of a file of the hub may not be here yet.
  if (a.content !== undefined || b.content !== undefined) return a.content === b.content;
  return await withFewFiles(async () => {
    await using one = await openToRead(a);
    await using other = await openToRead(b);
    for (let block = 0; block < blocks; block += 1) {
      const position = Math.floor((Math.max(0, a.bytes - blockBytes) * block) / (blocks - 1));
      if (!(await blockOf(one, position)).equals(await blockOf(other, position))) return false;
    }
    return true;
  });
};

const openToRead = ({ path }: FileIdentity): Promise<FileHandle> =>
  open(path, constants.O_RDONLY | constants.O_NONBLOCK);

const blockOf = (file: FileHandle, position: number): Promise<Buffer> =>
  readBlock(file, Buffer.alloc(blockBytes), position);
