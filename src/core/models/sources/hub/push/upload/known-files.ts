import { createHash, type Hash } from 'node:crypto';
import { gitBlobHash } from '../../cache/cache-writer.js';
import type { FileToPush } from './files-to-push.js';
import type { RemoteEntry } from './hub-calls.js';
import { UploadBlob } from './upload-blob.js';

/** Returns files that the repository has, by SHA-256 or Git object name. Reads only files of equal size. */
export const filesThere = async (
  files: readonly FileToPush[],
  remote: readonly RemoteEntry[],
): Promise<ReadonlySet<string>> => {
  const byName = new Map(remote.map((entry) => [entry.path, entry]));
  const there = new Set<string>();
  for (const file of files) {
    const entry = byName.get(file.name);
    if (entry === undefined || entry.size !== file.bytes) continue;
    const isSame =
      entry.lfs === undefined
        ? (await hashOf(file, gitBlobHash(file.bytes))) === entry.oid
        : (await sha256Of(file)) === entry.lfs.oid.replace(/^sha256:/, '');
    if (isSame) there.add(file.name);
  }
  return there;
};

export const sha256Of = (file: FileToPush): Promise<string> => hashOf(file, createHash('sha256'));

const hashOf = async ({ path }: FileToPush, hash: Hash): Promise<string> => {
  for await (const piece of (await UploadBlob.of(path)).read()) hash.update(piece as Buffer);
  return hash.digest('hex');
};
