import { join } from 'node:path';
import type { CheckpointIndex } from './checkpoint.js';
import { parseJsonObject } from './files/json.js';
import { readSideFile } from './files/small-file.js';

export type SideFilePlace = Pick<CheckpointIndex, 'path' | 'folder' | 'adapted' | 'carried'>;

/**
 * Returns a side file's path in the base's or adapter's folder; for carried files, a path for messages only.
 */
export const sideFilePath = ({ path, folder = path, adapted }: SideFilePlace, name: string): string =>
  join(adapted?.sideFiles.includes(name) ? adapted.folder : folder, name);

/** Returns the text of a side file in the weights' container; undefined for files beside the weights. */
export const carriedText = ({ adapted, carried }: SideFilePlace, name: string): string | undefined =>
  adapted?.sideFiles.includes(name) ? undefined : carried?.get(name);

/** Reads a side file beside the weights or in their container. @throws READ_FAILED */
export const sideFileContent = async (checkpoint: SideFilePlace, name: string): Promise<Buffer> => {
  const carried = carriedText(checkpoint, name);
  return carried === undefined ? await readSideFile(sideFilePath(checkpoint, name)) : Buffer.from(carried);
};

/**
 * Parses a side file as a JSON object, if the checkpoint has it.
 *
 * @throws READ_FAILED, CONFIG_INVALID
 */
export const sideFileObject = async (
  checkpoint: SideFilePlace & Pick<CheckpointIndex, 'sideFiles'>,
  name: string,
  mostValues?: number,
): Promise<Record<string, unknown> | undefined> =>
  checkpoint.sideFiles.includes(name)
    ? parseJsonObject(await sideFileContent(checkpoint, name), sideFilePath(checkpoint, name), mostValues)
    : undefined;
