import { openWhole } from '../core/models/reading/open-whole.js';
import type { PushOptions, PushResult } from '../core/models/sources/hub/push/push-result.js';

/**
 * Uploads a checkpoint to the Hugging Face hub: its weights, side files and model card, in one commit. The
 * repository is made if it is missing. What it has already with the same content is not sent again, so that an
 * interrupted push is continued by running it again, file by file. Layerloom's own record (`layerloom.json`) stays
 * here, since it names paths of this machine.
 *
 * @example await push('./merged', 'my-org/my-merge')
 * @param directory of the checkpoint
 * @param repository `org/name`
 * @throws LayerloomError INVALID_PARAMETER, NOT_A_CHECKPOINT and the codes of `openCheckpoint`; HUB_ACCESS,
 *   HUB_NOT_FOUND, HUB_UNAVAILABLE, PUSH_REFUSED, INTERRUPTED
 */
export const push = async (
  directory: string,
  repository: string,
  options: PushOptions = {},
): Promise<PushResult> => {
  // Loaded on demand: nothing else needs the hub's own library.
  const { pushCheckpoint } = await import('../core/models/sources/hub/push/push.js');
  return await pushCheckpoint(directory, repository, options, () => openWhole(directory, 'push'));
};
