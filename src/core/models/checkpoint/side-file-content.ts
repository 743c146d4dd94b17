import { join } from 'node:path';
import type { CheckpointIndex } from './checkpoint.js';
import { parseJsonObject } from './json.js';
import { readSideFile } from './small-file.js';

/** What a checkpoint's side files are found by. */
export type SideFilePlace = Pick<CheckpointIndex, 'path' | 'folder' | 'adapted' | 'carried'>;

/** Returns the path of one of a checkpoint's side files: its own, or those of base and adapter. Carried ones have it in messages alone. */
export const sideFilePath = ({ path, folder = path, adapted }: SideFilePlace, name: string): string =>
  join(adapted?.sideFiles.includes(name) ? adapted.folder : folder, name);

/** Returns the text of a side file that the weights carry; undefined for those that lie beside them. */
export const carriedText = ({ adapted, carried }: SideFilePlace, name: string): string | undefined =>
  adapted?.sideFiles.includes(name) ? undefined : carried?.get(name);

/** Reads a side file that a checkpoint has, beside its weights or within them. @throws LayerloomError READ_FAILED */
export const sideFileContent = async (checkpoint: SideFilePlace, name: string): Promise<Buffer> => {
  const carried = carriedText(checkpoint, name);
  return carried === undefined ? await readSideFile(sideFilePath(checkpoint, name)) : Buffer.from(carried);
};

/** Reads the JSON object of a side file; undefined where the checkpoint has no such file. @throws LayerloomError READ_FAILED, CONFIG_INVALID */
export const sideFileObject = async (
  checkpoint: SideFilePlace & Pick<CheckpointIndex, 'sideFiles'>,
  name: string,
  mostValues?: number,
): Promise<Record<string, unknown> | undefined> =>
  checkpoint.sideFiles.includes(name)
    ? parseJsonObject(await sideFileContent(checkpoint, name), sideFilePath(checkpoint, name), mostValues)
    : undefined;
