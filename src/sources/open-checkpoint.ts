import type { ModelAddress } from '../address/address.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { type KnownOfFiles, openFound } from '../checkpoint/open.js';
import { statedContent } from './bring-ranges.js';
import { locate } from './locate.js';
import { missingRanges } from './ranges/folder.js';

/** What the sources know of files of weights. */
export const knownOfFiles: KnownOfFiles = { statedContent, missingBytes: missingRanges };

/**
 * Opens a checkpoint for reading, found as `locate` finds it. Headers, `config.json`, descriptions and names of side files are read;
 * weights are not.
 *
 * @throws LayerloomError MODEL_NOT_FOUND and the codes of `openFound`
 */
export const openCheckpoint = async (model: ModelAddress): Promise<CheckpointIndex> =>
  openFound(await locate(model), knownOfFiles);
