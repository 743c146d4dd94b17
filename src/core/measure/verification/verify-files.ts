import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, type LayerloomError, reasonOf, withPath } from '../../base/errors/errors.js';
import { isMissing, isUnreadable } from '../../base/files/unless-missing.js';
import { readFailed } from '../../base/files/writing.js';
import { hashOpenFile } from '../../engine/output/checksums.js';
import { contentOf } from '../../engine/output/record/provenance.js';
import type { Run } from '../../engine/run.js';
import { cardName } from '../../models/checkpoint/files/file-names.js';
import { readSideFile } from '../../models/checkpoint/files/small-file.js';
import type { MergePlan } from '../../plan/plan.js';
import type { VerifiedFile } from './verification.js';
import type { WrittenFile } from './written-record.js';

/**
 * Compares files with the record.
 *
 * @throws READ_FAILED, INTERRUPTED
 */
export const verifyFiles = async (
  directory: string,
  written: readonly WrittenFile[],
  run: Run,
  known: ReadonlyMap<string, string> = new Map(),
): Promise<VerifiedFile[]> => {
  const found = new Map<string, VerifiedFile>();
  await run.pool.eachInLanes(written, async (one) => {
    found.set(one.file, await verifyFile(join(directory, one.file), one, run, known));
    run.report({ phase: 'checksums', done: found.size, total: written.length });
  });
  return written.flatMap(({ file }) => found.get(file) ?? []);
};

const verifyFile = async (
  path: string,
  { file, bytes: wanted, sha256: recorded }: WrittenFile,
  { pool }: Run,
  known: ReadonlyMap<string, string>,
): Promise<VerifiedFile> => {
  // Does not wait for the writer of a pipe.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((cause: unknown) =>
    notAFile(file, path, cause),
  );
  if ('state' in handle) return handle;
  try {
    const found = await handle.stat();
    const differs = (reason: string): VerifiedFile => ({
      ...{ file, bytes: found.size, reason },
      state: file === cardName ? 'edited' : 'different',
    });
    if (!found.isFile()) return { file, bytes: null, state: 'different', reason: 'is not a file' };
    if (wanted !== undefined && found.size !== wanted)
      return differs(
        (await isPointer(handle))
          ? 'is a pointer of git LFS in place of the file; `git lfs pull` brings it'
          : `has ${found.size} bytes instead of ${wanted}`,
      );
    if (recorded === undefined)
      return {
        ...{ file, bytes: found.size, state: 'unrecorded' },
        ...(wanted === undefined && { reason: 'has no recorded size' }),
      };
    const sha256 = known.get(file) ?? (await hashOpenFile(pool, path, handle.fd));
    if (sha256 === undefined || sha256 === recorded) return { file, bytes: found.size, state: 'equal' };
    return differs(`has SHA-256 ${sha256.slice(0, 12)}… instead of ${recorded.slice(0, 12)}…`);
  } catch (error) {
    throw withPath(error, path);
  } finally {
    await handle.close();
  }
};

/**
 * Reports an unreadable file as missing or different.
 *
 * @throws READ_FAILED
 */
export const notAFile = (file: string, path: string, cause: unknown): VerifiedFile => {
  if (isMissing(cause)) return { file, bytes: null, state: 'missing', reason: 'is missing' };
  // Errors of a loop of links, a socket, a folder, or a file that `readSideFile` refuses.
  if (['ELOOP', 'ENXIO', 'EISDIR'].includes(codeOf(cause) ?? '') || !isUnreadable(cause))
    return { file, bytes: null, state: 'different', reason: `is no file of the output: ${reasonOf(cause)}` };
  throw readFailed(path, cause);
};

const pointer = Buffer.from('version https://git-lfs.github.com/spec/');

const isPointer = async (file: FileHandle): Promise<boolean> => {
  const { buffer } = await file.read(Buffer.alloc(pointer.length), 0, pointer.length, 0);
  return buffer.equals(pointer);
};

/** @throws READ_FAILED */
export const compareSideFiles = async (
  directory: string,
  files: MergePlan['files'],
): Promise<VerifiedFile[]> =>
  Promise.all(
    files.map(async (planned): Promise<VerifiedFile> => {
      const { name: file } = planned;
      const wanted = Buffer.from(await contentOf(planned));
      const path = join(directory, file);
      const found = await readSideFile(path).catch((error: LayerloomError) =>
        notAFile(file, path, error.cause),
      );
      if ('state' in found) return found;
      if (found.equals(wanted)) return { file, bytes: found.length, state: 'equal' };
      const bytes = found.length;
      return {
        ...{ file, bytes, reason: 'is not what the inputs give' },
        state: file === cardName ? 'edited' : 'different',
      };
    }),
  );
