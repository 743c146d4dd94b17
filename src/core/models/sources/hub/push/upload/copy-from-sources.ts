import { isObject } from '../../../../checkpoint/files/json.js';
import type { HubFile } from '../../requests/remote-file.js';
import type { FileToPush } from './files-to-push.js';
import type { HubCalls } from './hub-calls.js';
import { sha256Of } from './known-files.js';

export interface Source {
  readonly id: string;
  readonly revision: string;
}

/**
 * Lets the hub copy files that the merge took unchanged from its inputs, such as shards of copied layers. The hub
 * copies only files in Xet storage within one storage region; other files are sent.
 *
 * @returns names of copied files
 */
export const copyFromSources = async (
  files: readonly FileToPush[],
  sources: readonly Source[],
  target: string,
  calls: HubCalls,
): Promise<ReadonlySet<string>> => {
  const copied = new Set<string>();
  const hashes = new Map<string, string>();
  const hashOf = async (file: FileToPush): Promise<string> => {
    const hash = hashes.get(file.name) ?? (await sha256Of(file));
    hashes.set(file.name, hash);
    return hash;
  };
  for (const { id, revision } of sources) {
    const stored = (await calls.listFiles(id, revision)).filter(({ xetHash }) => xetHash !== undefined);
    const wanted = new Map<string, { file: FileToPush; entry: HubFile }>();
    for (const file of files.filter(({ name }) => !copied.has(name)))
      for (const entry of stored.filter(({ bytes }) => bytes === file.bytes)) {
        const sha256 = await hashOf(file);
        if (sha256 === entry.sha256) wanted.set(sha256, { file, entry });
      }
    if (wanted.size === 0) continue;
    const answer = await calls.post(`/api/models/${id}/lfs-files/duplicate`, {
      target: { type: 'model', name: target },
      files: [...wanted].map(([sha256, { entry }]) => ({
        xetHash: entry.xetHash,
        sha256,
        filename: entry.name,
      })),
    });
    if (!isObject(answer)) continue;
    const failed = Array.isArray(answer['failed']) ? answer['failed'].filter(isObject) : [];
    for (const [sha256, { file }] of wanted)
      if (!failed.some((one) => one['sha256'] === sha256)) copied.add(file.name);
  }
  return copied;
};
