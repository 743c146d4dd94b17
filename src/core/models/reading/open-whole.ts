import { stat } from 'node:fs/promises';
import { basename, resolve, sep } from 'node:path';
import { LayerloomError } from '../../base/errors/errors.js';
import { optionName } from '../../base/errors/option-name.js';
import { exists } from '../../base/files/exists.js';
import { bytesOf } from '../../tensor/extent.js';
import { parseAddress } from '../address/address.js';
import { idOfHubAddress } from '../address/remote.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { stateOfRanges } from '../sources/ranges/folder/folder.js';
import { remoteSources } from '../sources/sources.js';
import { refuseUnlikeLoaders } from './as-loaded.js';
import { readWhole } from './read-model.js';

const unfinished = /\.layerloom-partial(\/|$)/;

/**
 * Opens the directory of a complete checkpoint for another program's use.
 *
 * @param purpose a verb, for messages: `push`
 * @throws NOT_A_CHECKPOINT for a file, an unfinished output, and a partly downloaded model; NOT_AS_LOADED;
 *   errors of `readWhole`
 */
export const openWhole = async (directory: string, purpose: string): Promise<CheckpointIndex> => {
  const root = resolve(directory);
  const refused = (reason: string) => new LayerloomError('NOT_A_CHECKPOINT', { path: root, reason });
  if (unfinished.test(root.split(sep).join('/')))
    throw refused(
      `is the unfinished output of a merge; run the merge again with ${optionName('resume')}, and ${purpose} its output`,
    );
  const address = idOfHubAddress(directory) ?? directory;
  const fetch = remoteSources.find((source) => source.names(address))?.fetchCommand?.(address);
  if (fetch !== undefined && !(await exists(root)))
    throw new LayerloomError('NOT_A_CHECKPOINT', {
      path: directory,
      reason: `is a model of the hub; fetch it whole by \`${fetch}\`, and ${purpose} the directory that it prints`,
    });
  const checkpoint = await readWhole(await parseAddress(root));
  refuseUnlikeLoaders(checkpoint, purpose);
  if (!(await stat(checkpoint.path)).isDirectory())
    throw refused('is a file; give the directory of a checkpoint');
  for (const file of checkpoint.files) {
    const found = await stateOfRanges(file.path, [{ begin: 0, end: file.bytes }]);
    const missing = bytesOf(found.missing);
    if (missing > 0)
      throw refused(
        `${missing} bytes of its ${basename(file.path)} have not been downloaded; fetch the whole model by \`hf download\`, and ${purpose} that`,
      );
    if (found.isUnverified)
      throw refused(
        `its ${basename(file.path)} was not verified by the hash that the hub states; fetch the whole model by \`hf download\`, and ${purpose} that`,
      );
  }
  return checkpoint;
};
