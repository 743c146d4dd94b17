import { LayerloomError } from '../../../base/errors/errors.js';
import { mostSideFileBytes, readSideFile } from '../../checkpoint/files/small-file.js';
import { type CheckpointFiles, chooseFiles } from '../ranges/choose-files.js';
import { eachOf } from '../ranges/each.js';
import type { ListedFile } from '../ranges/folder/record.js';
import { contentCheck, type HubCacheCommit, pointerPath, putSmallFile } from './cache/cache-writer.js';
import { RemoteFile } from './requests/remote-file.js';
import { type HubSession, mostRequests } from './requests/session/session.js';

/**
 * Fetches a commit's side files into the hub's cache. The index comes first, because it lists the weights.
 *
 * @throws NOT_A_CHECKPOINT if a side file is too large; errors of `chooseFiles` and `RemoteFile.read`
 */
export const bringSideFiles = async (
  hub: HubSession,
  at: HubCacheCommit,
  files: ReadonlyMap<string, ListedFile>,
): Promise<CheckpointFiles<ListedFile>> => {
  const chosen = await chooseFiles(at.id, files, async (index) => {
    await bringSideFile(hub, at, index);
    return (await readSideFile(pointerPath(at, index.name))).toString();
  });
  await eachOf(hub, chosen.sideFiles, mostRequests, (file) => bringSideFile(hub, at, file));
  return chosen;
};

const bringSideFile = (hub: HubSession, at: HubCacheCommit, file: ListedFile): Promise<void> => {
  const { name, bytes } = file;
  if (bytes > mostSideFileBytes)
    throw new LayerloomError('NOT_A_CHECKPOINT', {
      path: at.id,
      reason: `its ${name} has ${bytes} bytes, and a file beside weights at most ${mostSideFileBytes}`,
    });
  return putSmallFile(at, file, hub.signal, async () => {
    const content = await new RemoteFile(hub, at, file).readBytes(0, bytes);
    const check = contentCheck(file);
    check.update(content);
    const expected = check.mismatch();
    if (expected !== undefined)
      throw new LayerloomError('HUB_FILE_CHANGED', {
        model: at.id,
        file: name,
        reason: `came with other bytes than the hub's hash ${expected} says`,
      });
    return content;
  });
};
