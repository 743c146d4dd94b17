import { argument, layerloomCommand } from '../../base/errors/command-line.js';
import { LayerloomError } from '../../base/errors/errors.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';

/**
 * Refuses a model that transformers would load differently: evaluations must use what merges read.
 *
 * @param purpose a verb, for the message: `evaluate`
 * @throws NOT_AS_LOADED
 */
export const refuseUnlikeLoaders = (
  { path, notAsLoaded }: Pick<CheckpointIndex, 'path' | 'notAsLoaded'>,
  purpose: string,
): void => {
  if (notAsLoaded !== undefined)
    throw new LayerloomError('NOT_AS_LOADED', {
      path,
      reason: notAsLoaded,
      command: layerloomCommand('relayout', argument(path), '-o', 'DIR'),
      purpose,
    });
};
