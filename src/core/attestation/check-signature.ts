import { join } from 'node:path';
import { reasonOf } from '../base/errors/errors.js';
import type { Run } from '../engine/run.js';
import type { CheckedSignature, VerifiedFile } from '../measure/verification/verification.js';
import { signatureName } from '../models/checkpoint/files/file-names.js';
import { readSmallFile } from '../models/checkpoint/files/small-file.js';
import { openSignature, type Prover } from '../statements/signature.js';
import { limit } from '../statements/statement.js';
import { hashFiles } from './hash-files.js';
import { listFolder } from './list-folder.js';

/**
 * Checks that a key or an identity signed exactly the files of a folder.
 *
 * @returns the result, and an entry for each signed file and each file that is not signed
 * @throws SIGSTORE_UNAVAILABLE, READ_FAILED, INTERRUPTED
 */
export const checkSignature = async (
  directory: string,
  prover: Prover,
  run: Run,
  known: ReadonlyMap<string, string>,
): Promise<{ readonly signature: CheckedSignature; readonly files: readonly VerifiedFile[] }> => {
  const about = { file: signatureName, ...prover.by };
  const failed = (state: 'missing' | 'different', reason: string) => ({
    signature: { ...about, valid: false, files: 0 },
    files: [{ file: signatureName, bytes: null, state, reason }],
  });
  let bytes: Buffer;
  try {
    bytes = await readSmallFile(join(directory, signatureName), limit);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      return failed('missing', 'is missing: the folder is not signed');
    return failed('different', `cannot be read: ${reasonOf(error)}`);
  }
  const opened = await openSignature(bytes, prover);
  if ('reason' in opened) return failed('different', opened.reason);
  const { files: signed, mayLink } = opened.signed;
  const listed = await listFolder(directory, mayLink);
  const wanted = new Map(signed.map(({ name, sha256 }) => [name, sha256]));
  const hashes = await hashFiles(
    directory,
    listed.files.filter((name) => wanted.has(name)),
    run,
    known,
  );
  const entry = (file: string, state: VerifiedFile['state'], reason?: string): VerifiedFile => ({
    ...{ file, bytes: null, state },
    ...(reason === undefined ? {} : { reason }),
  });
  const isRefused = new Set(listed.refused.map(({ name }) => name));
  const there = signed.filter(({ name }) => !isRefused.has(name));
  const files = [
    ...there.map(({ name, sha256 }) => {
      const found = hashes.get(name);
      if (found === undefined) return entry(name, 'missing', 'is signed and is missing');
      return found === sha256
        ? entry(name, 'equal')
        : entry(name, 'different', 'is not the file that was signed');
    }),
    ...listed.files
      .filter((name) => !wanted.has(name))
      .map((name) => entry(name, 'different', 'is not signed')),
    ...listed.refused.map(({ name, reason }) => entry(name, 'different', reason)),
  ];
  const valid = files.every(({ state }) => state === 'equal');
  return {
    signature: { ...about, valid, files: signed.length },
    files: [entry(signatureName, 'equal'), ...files],
  };
};
