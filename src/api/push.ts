import { checkIntact } from '../core/measure/verification/check-intact.js';
import { openWhole } from '../core/models/reading/open-whole.js';
import type { PushOptions, PushResult } from '../core/models/sources/hub/push/upload/push-result.js';
import { verify } from './verify.js';

/**
 * Uploads a checkpoint to the Hugging Face hub in one commit: weights, side files and model card. Creates a
 * missing repository. Skips files that the repository already has, so repeating a call continues an
 * interrupted push, file by file. Does not upload `layerloom.json`, because it contains local paths.
 *
 * @example await push('./merged', 'my-org/my-merge')
 * @param directory of the checkpoint
 * @param repository `org/name`
 * @throws LayerloomError INVALID_PARAMETER, NOT_A_CHECKPOINT and the codes of `openCheckpoint`; HUB_ACCESS,
 * HUB_NOT_FOUND, HUB_UNAVAILABLE, PUSH_REFUSED, INTERRUPTED; with `verify`, OUTPUT_UNRECORDED and
 * OUTPUT_DAMAGED
 */
export const push = async (
  directory: string,
  repository: string,
  { verify: isVerified = false, ...options }: PushOptions = {},
): Promise<PushResult> => {
  if (isVerified) checkIntact(await verify(directory, { signal: options.signal }));
  // Loaded on demand, because nothing else needs the hub's library.
  const { pushCheckpoint } = await import('../core/models/sources/hub/push/push.js');
  return await pushCheckpoint(directory, repository, options, () => openWhole(directory, 'push'));
};
